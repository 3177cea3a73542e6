"""libcuda, asked through ctypes values."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from gpu_core.devices import tegra
from gpu_core.devices.cuda import MissingCuda
from gpu_core.devices.driver_threads import DriverThreads
from gpu_core.devices.libcuda import CudaLibrary
from gpu_core.devices.model import NO_ANSWER, Fault, Gpu, Inventory, Platform
from gpu_core.devices.tegra import TegraBackend

ATTRIBUTES = {75: 8, 76: 7}


class FakeLibcuda:
    """A libcuda with one GPU; `codes` makes functions fail, `missing` are not there."""

    def __init__(self, codes: dict[str, int] | None = None, missing: str = "") -> None:
        self._codes = codes or {}
        self._missing = missing

    def __getattr__(self, name: str) -> Callable[..., int]:
        if name == self._missing:
            raise AttributeError(name)
        run = getattr(type(self), f"_{name}")
        return lambda *args: self._codes.get(name) or run(*args) or 0

    @staticmethod
    def _cuInit(flags: Any) -> None:  # noqa: N802
        assert flags.value == 0

    @staticmethod
    def _cuDriverGetVersion(version: Any) -> None:  # noqa: N802
        version._obj.value = 12060

    @staticmethod
    def _cuDeviceGetCount(count: Any) -> None:  # noqa: N802
        count._obj.value = 1

    @staticmethod
    def _cuDeviceGet(device: Any, index: Any) -> None:  # noqa: N802
        device._obj.value = index.value + 40

    @staticmethod
    def _cuDeviceGetName(name: Any, size: Any, device: Any) -> None:  # noqa: N802
        assert (size.value, device.value) == (256, 40)
        name.value = b"Orin"

    @staticmethod
    def _cuDeviceTotalMem_v2(size: Any, device: Any) -> None:  # noqa: N802
        assert device.value == 40
        size._obj.value = 30 << 30

    @staticmethod
    def _cuDeviceGetAttribute(number: Any, attribute: Any, device: Any) -> None:  # noqa: N802
        assert device.value == 40
        number._obj.value = ATTRIBUTES[attribute.value]


ORIN = Gpu(index=0, uuid="tegra", name="Orin", memory=30 << 30, compute_capability=(8, 7))
INTACT: dict[str, Any] = {
    "platform": Platform.TEGRA,
    "gpus": (ORIN,),
    "cuda_version": (12, 6),
    "mig_minors_known": False,
}


def read(library: FakeLibcuda) -> Inventory:
    """Read a chip."""
    return TegraBackend(CudaLibrary(library)).read()


def test_a_chip_is_read() -> None:
    assert read(FakeLibcuda()) == Inventory(**INTACT)


@pytest.mark.parametrize(
    ("function", "code", "expected"),
    [
        ("cuInit", "UNKNOWN", {"gpus": (), "cuda_version": None}),
        ("cuDriverGetVersion", "UNKNOWN", {"cuda_version": None}),
        ("cuDeviceGetCount", "UNKNOWN", {"gpus": ()}),
    ],
)
def test_a_failing_function_of_the_system_is_a_fault_of_the_node(
    function: str, code: str, expected: dict[str, Any]
) -> None:
    faults = (Fault(call=function, code=code),)
    assert read(FakeLibcuda({function: 999})) == Inventory(**(INTACT | expected), faults=faults)


@pytest.mark.parametrize(
    ("function", "facts"),
    [
        ("cuDeviceGetName", {"name": None}),
        ("cuDeviceGetAttribute", {"compute_capability": None}),
    ],
)
def test_a_failing_function_of_the_gpu_is_its_fault(function: str, facts: dict[str, Any]) -> None:
    gpu = read(FakeLibcuda({function: 101})).gpus[0]
    assert gpu == replace(ORIN, **facts, faults=(Fault(call=function, code="INVALID_DEVICE"),))


def test_cuda_that_does_not_answer_is_a_fault_of_the_node_and_is_not_asked_again_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tegra, "START_DEADLINE", 0.2)
    free = threading.Event()
    library = FakeLibcuda()
    monkeypatch.setattr(FakeLibcuda, "_cuDeviceGetCount", lambda _count: not free.wait(20))
    backend = TegraBackend(CudaLibrary(library), threads := DriverThreads())
    late = Inventory(
        platform=Platform.TEGRA, faults=(Fault(call="cuDeviceGetCount", code=NO_ANSWER),), mig_minors_known=False
    )
    assert [backend.read(), backend.read()] == [late, late]
    assert len(threads.stuck()) == 1
    free.set()


def test_memory_that_cannot_be_read_is_absent() -> None:
    gpu = read(FakeLibcuda({"cuDeviceTotalMem_v2": 1234})).gpus[0]
    assert (gpu.memory, gpu.faults) == (None, ())


def test_a_library_that_lacks_a_function_says_so() -> None:
    found = read(FakeLibcuda(missing="cuInit"))
    assert found.faults == (Fault(call="cuInit", code="FUNCTION_NOT_FOUND"),)


def test_a_missing_library_answers_everything_alike() -> None:
    cuda = MissingCuda()
    fault = Fault(call="cuInit", code="LIBRARY_NOT_FOUND")
    asked = (cuda.init(), cuda.driver_version(), cuda.count())
    of_a_gpu = (cuda.name(0), cuda.memory(0), cuda.compute_capability(0))
    assert (asked, of_a_gpu) == ((fault,) * 3, (fault,) * 3)
