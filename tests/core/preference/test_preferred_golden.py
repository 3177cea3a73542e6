"""The recorded preferred allocations of the original."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from core.resources.asking import config_of, sharing_of
from core.resources.building import golden, recorded_node
from gpu_core.config.words import AllocationPolicy
from gpu_core.preference.closeness import links_by_uuid
from gpu_core.preference.preferred import Impossible, prefer
from gpu_core.resources.device_map import build_resources

ALIGNED = golden("preferred/aligned.json")
GREEDY = golden("preferred/greedy.json")


def _ask_aligned(case: dict[str, Any]) -> dict[str, Any]:
    node = recorded_node(case["topology"])
    (resource,), _ = build_resources(node, config_of())
    uuids = [gpu.uuid for gpu in node.gpus]

    def ids(numbers: list[int | str]) -> list[str]:
        return [number if isinstance(number, str) else uuids[number] for number in numbers]

    chosen = prefer(resource, links_by_uuid(node), ids(case["available"]), ids(case["required"]), case["size"])
    return {"gpus": [] if isinstance(chosen, Impossible) else [uuids.index(uuid) for uuid in chosen]}


@pytest.mark.parametrize("case", [pytest.param(case, id=case["id"]) for case in ALIGNED])
def test_the_same_gpus_are_preferred_as_by_the_original(case: dict[str, Any]) -> None:
    assert _ask_aligned(case) == case.get("reference", case["expect"])


def _ask_greedy(case: dict[str, Any]) -> tuple[str, ...]:
    flags = dict(argument.removeprefix("--").split("=") for argument in case["args"])
    config = config_of(
        mig=flags.get("mig-strategy", "none"),
        sharing=sharing_of(case.get("config")),
        policy=AllocationPolicy(flags.get("shared-devices-allocation-policy", "distributed")),
    )
    resources, _ = build_resources(recorded_node(case["topology"]), config)
    resource = next(resource for resource in resources if resource.name == case["resource"])
    answer = prefer(resource, {}, case["available"], case["required"], case["size"])
    return () if isinstance(answer, Impossible) else answer


@pytest.mark.parametrize("case", [pytest.param(case, id=case["id"]) for case in GREEDY if "ours" not in case])
def test_shares_are_spread_over_the_gpus_as_by_the_original(case: dict[str, Any]) -> None:
    answer = _ask_greedy(case)
    counts = dict(sorted(Counter(device.split("::")[0] for device in answer).items()))
    if "expect_per_physical_device" in case:
        assert counts == case["expect_per_physical_device"]
    if not case.get("sorted_counts_vary"):
        assert sorted(counts.values()) == case["expect_sorted_counts"]
    if "expect_id_set" in case:
        assert sorted(answer) == case["expect_id_set"]
    assert answer[: len(case["required"])] == tuple(case["required"])


@pytest.mark.parametrize("case", [pytest.param(case, id=case["id"]) for case in GREEDY if "ours" in case])
def test_the_choice_is_left_to_the_kubelet_where_the_original_fails_or_prefers_what_is_not_to_be_had(
    case: dict[str, Any],
) -> None:
    assert _ask_greedy(case) == tuple(case["reference"])
