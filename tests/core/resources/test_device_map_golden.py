"""The recorded device lists of the original, for every MIG strategy, sharing mode and kind of node."""

from __future__ import annotations

from typing import Any

import pytest

from core.resources.asking import config_of, sharing_of
from core.resources.building import golden, recorded_node
from gpu_core.errors import ResourceError
from gpu_core.resources.device_map import build_resources

CASES = golden("resources/lists.json")
# Where the original fails and ours does not: `3g.20gb` instances of one slice each, and no file with minors.
SERVED_BY_US = {
    "plugin/a100-mig-ci/mixed/none": {"nvidia.com/mig-2g.10gb": 1, "nvidia.com/mig-3g.20gb": 3},
    "plugin/a100-mig-nominors/mixed/none": {"nvidia.com/mig-3g.20gb": 2},
}


def _config(case: dict[str, Any]) -> Any:
    return config_of(mig=case["mig_strategy"], sharing=sharing_of(case.get("config")), specs=case["pass_device_specs"])


@pytest.mark.parametrize("case", [pytest.param(case, id=case["id"]) for case in CASES if "resources" in case])
def test_the_same_devices_are_advertised_as_by_the_original(case: dict[str, Any]) -> None:
    resources, _ = build_resources(recorded_node(case["topology"]), _config(case))
    assert {
        resource.name: sorted([device.id, device.numa_node] for device in resource.devices) for resource in resources
    } == case["resources"]


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, id=case["id"]) for case in CASES if "error" in case and case["id"] not in SERVED_BY_US],
)
def test_what_the_original_refuses_is_refused(case: dict[str, Any]) -> None:
    with pytest.raises(ResourceError):
        build_resources(recorded_node(case["topology"]), _config(case))


@pytest.mark.parametrize("case", [pytest.param(case, id=case["id"]) for case in CASES if case["id"] in SERVED_BY_US])
def test_nodes_that_stop_the_original_are_served(case: dict[str, Any]) -> None:
    resources, _ = build_resources(recorded_node(case["topology"]), _config(case))
    assert {resource.name: len(resource.devices) for resource in resources} == SERVED_BY_US[case["id"]]
