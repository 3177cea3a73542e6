"""The simulated library, called as C code would call it: wrong handles, wrong numbers, functions it lacks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pynvml
import pytest

from core.devices.nodes import node, opened

NODE = {
    "gpus": [{"model": "A30", "mig": {"enabled": True, "devices": ["1g.6gb"]}}, {"model": "T4"}],
    "links": {"nvlinks": {"all": 2}},
}


@pytest.fixture(autouse=True)
def driver() -> Iterator[None]:
    """Open the node, so that the binding calls its library."""
    with opened(node(NODE)):
        yield


def gpu(index: int) -> Any:
    """Return the handle of a GPU."""
    return pynvml.nvmlDeviceGetHandleByIndex(index)


def mig() -> Any:
    """Return the handle of the MIG device."""
    return pynvml.nvmlDeviceGetMigDeviceHandleByIndex(gpu(0), 0)


def test_a_mig_device_answers_for_itself() -> None:
    assert pynvml.nvmlDeviceGetName(mig()) == "NVIDIA A30 MIG 1g.6gb"
    assert pynvml.nvmlDeviceGetMemoryInfo(mig()).total == 5952 << 20
    assert pynvml.nvmlDeviceGetCudaComputeCapability(mig()) == (8, 0)
    parent = pynvml.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(mig())
    assert pynvml.nvmlDeviceGetUUID(parent) == pynvml.nvmlDeviceGetUUID(gpu(0))


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda: gpu(2), pynvml.NVML_ERROR_INVALID_ARGUMENT),
        (lambda: pynvml.nvmlDeviceGetHandleByUUID(b"GPU-nobody"), pynvml.NVML_ERROR_NOT_FOUND),
        (lambda: pynvml.nvmlDeviceGetMigDeviceHandleByIndex(gpu(0), 1), pynvml.NVML_ERROR_NOT_FOUND),
        (lambda: pynvml.nvmlDeviceGetMigDeviceHandleByIndex(gpu(1), 0), pynvml.NVML_ERROR_NOT_FOUND),
        (lambda: pynvml.nvmlDeviceGetMigMode(gpu(1)), pynvml.NVML_ERROR_NOT_SUPPORTED),
        (lambda: pynvml.nvmlDeviceGetMinorNumber(mig()), pynvml.NVML_ERROR_INVALID_ARGUMENT),
        (lambda: pynvml.nvmlDeviceGetBrand(mig()), pynvml.NVML_ERROR_NOT_SUPPORTED),
        (lambda: pynvml.nvmlDeviceGetPciInfo(mig()), pynvml.NVML_ERROR_INVALID_ARGUMENT),
        (lambda: pynvml.nvmlDeviceGetGpuInstanceId(gpu(0)), pynvml.NVML_ERROR_NOT_SUPPORTED),
        (lambda: pynvml.nvmlDeviceGetComputeInstanceId(gpu(0)), pynvml.NVML_ERROR_NOT_SUPPORTED),
        (lambda: pynvml.nvmlDeviceGetAttributes_v2(gpu(0)), pynvml.NVML_ERROR_NOT_SUPPORTED),
        (lambda: pynvml.nvmlDeviceGetGpuInstanceById(gpu(0), 0), pynvml.NVML_ERROR_NOT_FOUND),
        (lambda: pynvml.nvmlDeviceGetGpuInstanceById(mig(), 0), pynvml.NVML_ERROR_INVALID_ARGUMENT),
        (lambda: pynvml.nvmlGpuInstanceGetInfo(gpu(0)), pynvml.NVML_ERROR_INVALID_ARGUMENT),
        (lambda: pynvml.nvmlDeviceGetTopologyCommonAncestor(mig(), gpu(1)), pynvml.NVML_ERROR_INVALID_ARGUMENT),
        (lambda: pynvml.nvmlDeviceGetNvLinkState(gpu(0), 18), pynvml.NVML_ERROR_INVALID_ARGUMENT),
        (lambda: pynvml.nvmlDeviceGetNvLinkRemotePciInfo(gpu(0), 2), pynvml.NVML_ERROR_NOT_SUPPORTED),
        (
            lambda: pynvml.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(gpu(0)),
            pynvml.NVML_ERROR_INVALID_ARGUMENT,
        ),
        (pynvml.nvmlSystemGetNVMLVersion, pynvml.NVML_ERROR_FUNCTION_NOT_FOUND),
    ],
)
def test_a_call_that_makes_no_sense_is_refused_as_by_a_driver(call: Any, code: int) -> None:
    with pytest.raises(pynvml.NVMLError) as caught:
        call()
    assert caught.value.value == code


def test_an_event_set_that_was_given_back_takes_no_gpu() -> None:
    events = pynvml.nvmlEventSetCreate()
    pynvml.nvmlEventSetFree(events)
    with pytest.raises(pynvml.NVMLError):
        pynvml.nvmlEventSetFree(events)
    with pytest.raises(pynvml.NVMLError):
        pynvml.nvmlDeviceRegisterEvents(gpu(0), 8, events)


def test_a_profile_has_a_name_in_newer_structures_only() -> None:
    newer = pynvml.nvmlDeviceGetGpuInstanceProfileInfo(gpu(0), 0, version=2)
    older = pynvml.nvmlDeviceGetGpuInstanceProfileInfo(gpu(0), 0, version=1)
    assert (newer.name, hasattr(older, "name"), newer.id, older.id) == ("MIG 1g.6gb", False, 14, 14)
