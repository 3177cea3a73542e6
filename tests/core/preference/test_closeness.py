"""Scores of pairs of GPUs."""

from __future__ import annotations

import pytest

from core.resources.building import node_of, recorded_node, whole_gpu
from gpu_core.devices.model import LinkLevel, PairLink
from gpu_core.preference.closeness import links_by_uuid, pair_scores
from gpu_core.resources.model import Device


def device(number: int, *, numa: int | None = None) -> Device:
    return Device(id=f"GPU-{number}", uuid=f"GPU-{number}", index=str(number), numa_node=numa, gpu=whole_gpu(number))


@pytest.mark.parametrize(
    ("forth", "back", "score"),
    [
        pytest.param(PairLink(level=LinkLevel.SYSTEM), None, 10, id="two sockets"),
        pytest.param(PairLink(level=LinkLevel.NODE), None, 20, id="one NUMA node"),
        pytest.param(PairLink(level=LinkLevel.HOSTBRIDGE), None, 30, id="one host bridge"),
        pytest.param(PairLink(level=LinkLevel.MULTIPLE), None, 40, id="several switches"),
        pytest.param(PairLink(level=LinkLevel.SINGLE), None, 50, id="one switch"),
        pytest.param(PairLink(level=LinkLevel.INTERNAL), None, 60, id="one board"),
        pytest.param(PairLink(level=LinkLevel.NODE, nvlinks=4), None, 420, id="each bridge counts 100"),
        pytest.param(PairLink(level=LinkLevel.NODE, nvlinks=24), None, 1820, id="up to 18 bridges count"),
        pytest.param(
            PairLink(level=LinkLevel.NODE, nvlinks=2),
            PairLink(level=LinkLevel.NODE, nvlinks=3),
            220,
            id="of unlike counts that of the first GPU",
        ),
        pytest.param(
            PairLink(level=LinkLevel.NODE, nvlinks=2),
            PairLink(level=LinkLevel.NODE),
            20,
            id="bridges of one end do not count",
        ),
        pytest.param(PairLink(level=LinkLevel.NODE, switched=18), None, 20, id="NVLinks into switches do not count"),
        pytest.param(PairLink(nvlinks=2), None, 220, id="with an unknown level one NUMA node counts, and the bridges"),
    ],
)
def test_a_pair_scores(forth: PairLink, back: PairLink | None, score: int) -> None:
    links = {("GPU-0", "GPU-1"): forth, ("GPU-1", "GPU-0"): back or forth}
    assert pair_scores([device(0, numa=1), device(1, numa=1)], links) == [[0, score], [score, 0]]


@pytest.mark.parametrize(
    ("one", "other", "score"),
    [
        pytest.param(0, 0, 20, id="one NUMA node is near"),
        pytest.param(0, 1, 10, id="two are far"),
        pytest.param(None, None, 10, id="unknown ones are far"),
        pytest.param(0, None, 10, id="known and unknown are far"),
    ],
)
def test_without_link_facts_numa_counts(one: int | None, other: int | None, score: int) -> None:
    assert pair_scores([device(0, numa=one), device(1, numa=other)], {}) == [[0, score], [score, 0]]


def test_links_are_found_by_uuid() -> None:
    node = recorded_node("a100x4-pcie")
    links = links_by_uuid(node)
    assert len(links) == 12
    assert links[node.gpus[0].uuid, node.gpus[1].uuid] == node.links[0][1]


def test_an_inventory_without_links_gives_none() -> None:
    assert links_by_uuid(node_of(whole_gpu(0), whole_gpu(1))) == {}
