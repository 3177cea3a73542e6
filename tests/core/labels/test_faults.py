from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from core.labels.building import config, gpu, mig_gpu, node
from gpu_core.config.words import MigStrategy
from gpu_core.devices.model import NO_ANSWER, Fault, Gpu, UnreadableGpu, UnreadableMig
from gpu_core.labels import faults

LOST = Fault(call="DeviceGetHandleByIndex", code="GPU_IS_LOST")


@pytest.mark.parametrize(
    ("found", "facts", "expected"),
    [
        pytest.param((gpu(),), {}, (), id="all is well"),
        pytest.param(
            (),
            {"unreadable": (UnreadableGpu(index=3, fault=LOST),)},
            ("GPU 3 has no labels: nvmlDeviceGetHandleByIndex failed with GPU_IS_LOST.",),
            id="a lost GPU",
        ),
        pytest.param(
            (gpu(0, None, faults=(Fault(call="DeviceGetName", code="UNKNOWN"),)),),
            {},
            ("GPU 0 (GPU-0) has no labels: nvmlDeviceGetName failed with UNKNOWN.",),
            id="a GPU without a name",
        ),
        pytest.param(
            (gpu(0, faults=(Fault(call="DeviceGetMemoryInfo", code="GPU_IS_LOST"),)),),
            {},
            (),
            id="a missing memory figure costs one label only",
        ),
        pytest.param(
            (),
            {"faults": (Fault(call="DeviceGetCount", code="UNKNOWN"),)},
            ("The driver cannot be asked: nvmlDeviceGetCount failed with UNKNOWN.",),
            id="a driver that does not count",
        ),
        pytest.param(
            (),
            {"faults": (Fault(call="SystemGetDriverVersion", code="UNKNOWN"),)},
            (),
            id="a version that cannot be read is reported with its labels",
        ),
    ],
)
def test_what_cannot_be_read_is_named(found: tuple[Gpu, ...], facts: dict[str, Any], expected: tuple[str, ...]) -> None:
    assert faults.label(node(*found, **facts)).failures == expected


NO_ATTRIBUTES = Fault(call="DeviceGetAttributes", code="UNKNOWN")
NO_HANDLE = Fault(call="DeviceGetMigDeviceHandleByIndex", code="UNKNOWN")


def test_mig_devices_that_cannot_be_read_are_named_where_they_are_advertised() -> None:
    found = mig_gpu(1, "1g.5gb", unreadable_mig=(UnreadableMig(index=1, fault=NO_HANDLE),))
    found = replace(found, mig_devices=(replace(found.mig_devices[0], faults=(NO_ATTRIBUTES,)),))
    assert faults.label(node(found, config=config(MigStrategy.MIXED))).failures == (
        "A MIG device of GPU 1 has no labels: nvmlDeviceGetMigDeviceHandleByIndex failed with UNKNOWN.",
        "A MIG device of GPU 1 has no labels: nvmlDeviceGetAttributes failed with UNKNOWN.",
    )
    assert faults.label(node(found)).failures == ()


LATE = UnreadableGpu(index=1, fault=Fault(call="DeviceGetName", code=NO_ANSWER))
TOLD = ("GPU 1 has no labels: nvmlDeviceGetName did not return in time.",)


def test_a_gpu_that_does_not_answer_in_time_is_warned_of_beside_others_and_fails_alone() -> None:
    beside = faults.label(node(gpu(0), unreadable=(LATE,)))
    assert (beside.warnings, beside.failures) == (TOLD, ())
    alone = faults.label(node(unreadable=(LATE,)))
    assert (alone.warnings, alone.failures) == ((), TOLD)
