"""Asks libcuda through ctypes."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from gpu_core.devices.cuda import Cuda, MissingCuda
from gpu_core.devices.driver_threads import entering
from gpu_core.devices.library_search import load
from gpu_core.devices.model import Fault

LIBRARY = "libcuda.so.1"

T = TypeVar("T")

_SUCCESS = 0
_COMPUTE_CAPABILITY_MAJOR = 75
_COMPUTE_CAPABILITY_MINOR = 76
_NAME_LENGTH = 256
_CODES = {
    1: "INVALID_VALUE",
    2: "OUT_OF_MEMORY",
    3: "NOT_INITIALIZED",
    34: "STUB_LIBRARY",
    100: "NO_DEVICE",
    101: "INVALID_DEVICE",
    801: "NOT_SUPPORTED",
    803: "SYSTEM_DRIVER_MISMATCH",
    804: "COMPAT_NOT_SUPPORTED_ON_DEVICE",
    999: "UNKNOWN",
}
"""CUresult's names without `CUDA_ERROR_`, of those that a start can meet."""


class CudaLibrary:
    """A loaded libcuda."""

    def __init__(self, library: Any) -> None:
        self._library = library

    def init(self) -> Fault | None:
        """Call cuInit."""
        return self._call("cuInit", ctypes.c_uint(0))

    def driver_version(self) -> tuple[int, int] | Fault:
        """Call cuDriverGetVersion, which writes 12020 for 12.2."""
        version = ctypes.c_int()
        fault = self._call("cuDriverGetVersion", ctypes.byref(version))
        return fault or (version.value // 1000, version.value % 1000 // 10)

    def count(self) -> int | Fault:
        """Call cuDeviceGetCount."""
        count = ctypes.c_int()
        fault = self._call("cuDeviceGetCount", ctypes.byref(count))
        return count.value if fault is None else fault

    def name(self, index: int) -> str | Fault:
        """Call cuDeviceGetName."""

        def ask(device: ctypes.c_int) -> str | Fault:
            name = ctypes.create_string_buffer(_NAME_LENGTH)
            fault = self._call("cuDeviceGetName", name, ctypes.c_int(_NAME_LENGTH), device)
            return name.value.decode("utf-8", "replace") if fault is None else fault

        return self._of_device(index, ask)

    def memory(self, index: int) -> int | Fault:
        """Call cuDeviceTotalMem."""

        def ask(device: ctypes.c_int) -> int | Fault:
            size = ctypes.c_size_t()
            fault = self._call("cuDeviceTotalMem_v2", ctypes.byref(size), device)
            return size.value if fault is None else fault

        return self._of_device(index, ask)

    def compute_capability(self, index: int) -> tuple[int, int] | Fault:
        """Call cuDeviceGetAttribute for both numbers."""

        def ask(device: ctypes.c_int) -> tuple[int, int] | Fault:
            numbers = []
            for attribute in (_COMPUTE_CAPABILITY_MAJOR, _COMPUTE_CAPABILITY_MINOR):
                number = ctypes.c_int()
                fault = self._call("cuDeviceGetAttribute", ctypes.byref(number), ctypes.c_int(attribute), device)
                if fault is not None:
                    return fault
                numbers.append(number.value)
            return numbers[0], numbers[1]

        return self._of_device(index, ask)

    def _of_device(self, index: int, ask: Callable[[ctypes.c_int], T | Fault]) -> T | Fault:
        device = ctypes.c_int()
        return self._call("cuDeviceGet", ctypes.byref(device), ctypes.c_int(index)) or ask(device)

    def _call(self, function: str, *args: Any) -> Fault | None:
        entering(function)
        try:
            code = getattr(self._library, function)(*args)
        except AttributeError:
            return Fault(call=function, code="FUNCTION_NOT_FOUND")
        return None if code == _SUCCESS else Fault(call=function, code=_CODES.get(code, f"CODE_{code}"))


def load_cuda(paths: Iterable[str], loader: Callable[[str], Any]) -> Cuda:
    """Return the first libcuda that loads, or what stands for it where the loader raises OSError for all of them."""
    library, _ = load(paths, loader)
    return MissingCuda() if library is None else CudaLibrary(library)
