"""What a node is known to have when a GPU does not answer in full: it changes on full answers only."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from core.resources.building import LOST, mig_device, mig_gpu, node_of, whole_gpu
from gpu_core.devices.known import keep_known
from gpu_core.devices.model import NO_ANSWER, Fault, LinkLevel, PairLink, UnreadableGpu, UnreadableMig

NEAR = PairLink(level=LinkLevel.SINGLE)
ALL = node_of(whole_gpu(0), whole_gpu(1), whole_gpu(2))
SILENT = Fault(call="DeviceGetMemoryInfo", code=NO_ANSWER)
PARTED = mig_gpu(0, "1g.5gb", "2g.10gb", "3g.20gb", mig_capable=True)


def unread(index: int, fault: Fault = LOST, uuid: str = "") -> UnreadableGpu:
    return UnreadableGpu(index=index, fault=fault, uuid=uuid)


def test_a_lost_gpu_stays_as_it_was_with_its_fault() -> None:
    now = node_of(whole_gpu(0), whole_gpu(2), unreadable=(unread(1),))
    assert keep_known(ALL, now) == node_of(whole_gpu(0), whole_gpu(1, faults=(LOST,)), whole_gpu(2))


def test_its_links_are_unknown_and_those_of_its_neighbours_are_kept() -> None:
    links = ((PairLink(), NEAR), (NEAR, PairLink()))
    now = node_of(whole_gpu(0), whole_gpu(2), unreadable=(unread(1),), links=links)
    unknown = PairLink()
    assert keep_known(ALL, now).links == (
        (unknown, unknown, NEAR),
        (unknown, unknown, unknown),
        (NEAR, unknown, unknown),
    )


def test_a_gpu_lost_for_longer_keeps_one_fault_of_each_kind() -> None:
    before = node_of(whole_gpu(0, faults=(LOST,)))
    other = Fault(call="DeviceGetHandleByIndex", code="UNKNOWN")
    assert keep_known(before, node_of(unreadable=(unread(0),))) == before
    assert keep_known(before, node_of(unreadable=(unread(0, other),))).gpus == (whole_gpu(0, faults=(LOST, other)),)


def test_what_was_never_known_stays_unreadable() -> None:
    now = node_of(whole_gpu(0), unreadable=(unread(7),))
    assert keep_known(ALL, now) == now


def test_a_gpu_that_is_gone_altogether_is_gone() -> None:
    now = node_of(whole_gpu(0))
    assert keep_known(ALL, now) == now


def test_a_gpu_that_answers_in_part_at_first_is_nothing_yet() -> None:
    now = node_of(whole_gpu(0), mig_gpu(1, "1g.5gb", faults=(SILENT,)))
    assert keep_known(None, now) == node_of(whole_gpu(0), unreadable=(unread(1, SILENT, "GPU-1"),))
    assert keep_known(ALL, node_of(whole_gpu(0), whole_gpu(9, faults=(LOST,)))).unreadable == (unread(9, uuid="GPU-9"),)


def test_and_what_it_is_as_soon_as_it_answers_in_full() -> None:
    before = keep_known(None, node_of(whole_gpu(0), mig_gpu(1, faults=(SILENT,))))
    now = node_of(whole_gpu(0), mig_gpu(1, "1g.5gb"))
    assert keep_known(before, now) == now


def test_a_gpu_that_does_not_tell_its_uuid_is_nobody_after_all_were_renumbered() -> None:
    now = node_of(whole_gpu(0), unreadable=(unread(1),))
    assert keep_known(ALL, now, renumbered=True) == now
    faulty = node_of(replace(whole_gpu(2, faults=(SILENT,)), index=1))
    assert keep_known(ALL, faulty, renumbered=True).gpus == faulty.gpus


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(Fault(call="DeviceGetMaxMigDeviceCount", code="UNKNOWN"), id="how many MIG devices it may have"),
        pytest.param(Fault(call="DeviceGetMigMode", code="INVALID_ARGUMENT"), id="its MIG mode"),
        pytest.param(Fault(call="DeviceGetName", code="UNKNOWN"), id="its name"),
    ],
)
def test_a_gpu_that_fails_to_tell_keeps_its_layout(fault: Fault) -> None:
    silent = whole_gpu(0, faults=(fault,))
    assert keep_known(node_of(PARTED), node_of(silent)).gpus == (replace(PARTED, faults=(fault,)),)


@pytest.mark.parametrize(
    ("before", "now", "call"),
    [
        pytest.param(PARTED, whole_gpu(0), "DeviceGetMigMode", id="MIG"),
        pytest.param(
            whole_gpu(0, pci_bus_id="00000000:07:00.0"), whole_gpu(0), "DeviceGetPciInfo", id="its place on the bus"
        ),
    ],
)
def test_what_a_gpu_has_shown_it_cannot_deny(before: Any, now: Any, call: str) -> None:
    fault = Fault(call=call, code="NOT_SUPPORTED")
    kept = keep_known(node_of(before), node_of(replace(now, mig_capable=False, pci_bus_id=None)))
    assert kept.gpus == (replace(before, faults=(fault,)),)


def test_mig_that_is_turned_off_is_off() -> None:
    off = replace(PARTED, mig_enabled=False, mig_devices=())
    assert keep_known(node_of(PARTED), node_of(off)).gpus == (off,)


def test_a_mig_device_that_cannot_be_named_stays_in_its_place_with_its_fault_and_its_neighbours_are_untouched() -> None:
    one, two, three = PARTED.mig_devices
    now = replace(PARTED, mig_devices=(one, three), unreadable_mig=(UnreadableMig(index=1, fault=LOST),))
    (gpu,) = keep_known(node_of(PARTED), node_of(now)).gpus
    assert (gpu.mig_devices, gpu.faults) == ((one, replace(two, faults=(LOST,)), three), ())


def test_one_that_can_be_read_in_part_only_keeps_the_rest_as_it_was() -> None:
    one, two, three = PARTED.mig_devices
    partly = mig_device(0, 1, "1g.5gb", faults=(SILENT,))
    (gpu,) = keep_known(node_of(PARTED), node_of(replace(PARTED, mig_devices=(one, partly, three)))).gpus
    assert gpu.mig_devices == (one, replace(two, faults=(SILENT,)), three)


def test_a_place_that_never_held_a_mig_device_is_passed_over() -> None:
    now = replace(PARTED, unreadable_mig=(UnreadableMig(index=5, fault=LOST),))
    assert keep_known(node_of(PARTED), node_of(now)).gpus[0].mig_devices == PARTED.mig_devices


def test_memory_that_cannot_be_read_for_a_while_stays_known() -> None:
    before = whole_gpu(0, memory=1 << 34, brand=7, numa_node=1)
    now = whole_gpu(0, memory=None, brand=None)
    kept = keep_known(node_of(before), node_of(now)).gpus[0]
    assert (kept.memory, kept.brand, kept.numa_node) == (1 << 34, 7, 1)
