"""Names of resources."""

from __future__ import annotations

import pytest

from core.resources.asking import entry
from gpu_core.config.sharing import ReplicatedResources
from gpu_core.resources.names import advertised_name, mig_resource_name, shared_name, short_name


@pytest.mark.parametrize(
    ("profile", "name"),
    [
        pytest.param("1g.5gb", "nvidia.com/mig-1g.5gb", id="a plain profile is kept"),
        pytest.param("1g.5gb+me", "nvidia.com/mig-1g.5gb.me", id="a plus becomes a dot"),
        pytest.param("1g.24gb+me.all", "nvidia.com/mig-1g.24gb.me.all", id="a dot in an attribute stays"),
        pytest.param("1g.24gb-me", "nvidia.com/mig-1g.24gb-me", id="a minus stays"),
    ],
)
def test_a_mig_profile_names_a_resource(profile: str, name: str) -> None:
    assert mig_resource_name(profile) == name


@pytest.mark.parametrize(
    ("rename", "by_default", "custom", "name"),
    [
        pytest.param(None, False, False, "nvidia.com/gpu", id="shares keep the name"),
        pytest.param(None, True, False, "nvidia.com/gpu.shared", id="renameByDefault adds .shared"),
        pytest.param("nvidia.com/slice", False, False, "nvidia.com/gpu", id="a rename is ignored by default"),
        pytest.param("nvidia.com/slice", True, False, "nvidia.com/gpu.shared", id="and does not hide renameByDefault"),
        pytest.param(
            "nvidia.com/slice", True, True, "nvidia.com/slice", id="with customResources a rename comes first"
        ),
        pytest.param(None, True, True, "nvidia.com/gpu.shared", id="renameByDefault serves entries without a rename"),
    ],
)
def test_shares_are_advertised_under_a_name(rename: str | None, by_default: bool, custom: bool, name: str) -> None:
    sharing = ReplicatedResources(rename_by_default=by_default)
    assert advertised_name(entry(rename=rename), sharing, custom=custom) == name


def test_the_generated_name_may_be_longer_than_a_written_one() -> None:
    assert shared_name("nvidia.com/" + "a" * 52) == "nvidia.com/" + "a" * 52 + ".shared"


def test_a_short_name_lacks_the_prefix() -> None:
    assert (short_name("nvidia.com/gpu.shared"), short_name("gpu")) == ("gpu.shared", "gpu")
