"""GPUs that NVSwitches join."""

from __future__ import annotations

from gpu_core.devices.model import Fabric, Gpu, LinkLevel, PairLink
from gpu_core.devices.switched_links import GpuLinks, joined

NEAR = PairLink(level=LinkLevel.SINGLE)


def gpu(index: int, *, clique: int | None = None, state: int = 3) -> Gpu:
    """Return a GPU, of a clique of a fabric where one is given."""
    fabric = None if clique is None else Fabric(state=state, status=0, clique=clique, cluster_uuid="7b968a6d")
    return Gpu(index=index, uuid=f"GPU-{index}", name="NVIDIA H100", fabric=fabric)


def between(one: Gpu, other: Gpu, *into_switches: int) -> int:
    """Return how many NVLinks join two GPUs with so many into switches each."""
    ways = ((PairLink(), NEAR), (NEAR, PairLink()))
    links = [GpuLinks(ways=row, into_switches=count) for row, count in zip(ways, into_switches, strict=True)]
    found = joined([one, other], links)
    assert (found[0][0], found[1][1]) == (PairLink(), PairLink())
    assert found[0][1] == found[1][0]
    assert found[0][1].level is LinkLevel.SINGLE
    return found[0][1].switched


def test_two_gpus_on_switches_are_joined_by_all_their_links() -> None:
    assert between(gpu(0), gpu(1), 18, 18) == 18


def test_a_gpu_with_links_that_are_down_narrows_the_way() -> None:
    assert between(gpu(0), gpu(1), 18, 12) == 12


def test_a_gpu_without_a_link_into_a_switch_is_not_joined() -> None:
    assert between(gpu(0), gpu(1), 18, 0) == 0


def test_gpus_of_one_clique_are_joined() -> None:
    assert between(gpu(0, clique=1), gpu(1, clique=1), 18, 18) == 18


def test_gpus_of_two_cliques_are_not_joined_though_both_are_on_switches() -> None:
    assert between(gpu(0, clique=1), gpu(1, clique=2), 18, 18) == 0


def test_a_fabric_that_is_not_there_yet_keeps_nobody_apart() -> None:
    assert between(gpu(0, clique=1), gpu(1, clique=2, state=2), 18, 18) == 18
