"""GPUs that fall off the bus between two readings."""

from __future__ import annotations

from core.resources.building import LOST, node_of, whole_gpu
from gpu_core.devices.model import Fault, LinkLevel, PairLink, UnreadableGpu
from gpu_core.resources.lost import keep_lost

NEAR = PairLink(level=LinkLevel.SINGLE)
ALL = node_of(whole_gpu(0), whole_gpu(1), whole_gpu(2))


def test_a_lost_gpu_stays_as_it_was_with_its_fault() -> None:
    now = node_of(whole_gpu(0), whole_gpu(2), unreadable=(UnreadableGpu(index=1, fault=LOST),))
    assert keep_lost(ALL, now) == node_of(whole_gpu(0), whole_gpu(1, faults=(LOST,)), whole_gpu(2))


def test_its_links_are_unknown_and_those_of_its_neighbours_are_kept() -> None:
    links = ((PairLink(), NEAR), (NEAR, PairLink()))
    now = node_of(whole_gpu(0), whole_gpu(2), unreadable=(UnreadableGpu(index=1, fault=LOST),), links=links)
    unknown = PairLink()
    assert keep_lost(ALL, now).links == (
        (unknown, unknown, NEAR),
        (unknown, unknown, unknown),
        (NEAR, unknown, unknown),
    )


def test_a_gpu_lost_for_longer_keeps_one_fault_of_each_kind() -> None:
    before = node_of(whole_gpu(0, faults=(LOST,)))
    other = Fault(call="DeviceGetHandleByIndex", code="UNKNOWN")
    again = node_of(unreadable=(UnreadableGpu(index=0, fault=LOST),))
    assert keep_lost(before, again) == before
    worse = node_of(unreadable=(UnreadableGpu(index=0, fault=other),))
    assert keep_lost(before, worse).gpus == (whole_gpu(0, faults=(LOST, other)),)


def test_what_was_never_known_stays_unreadable() -> None:
    now = node_of(whole_gpu(0), unreadable=(UnreadableGpu(index=7, fault=LOST),))
    assert keep_lost(ALL, now) == now


def test_a_gpu_that_is_gone_altogether_is_gone() -> None:
    now = node_of(whole_gpu(0))
    assert keep_lost(ALL, now) == now
