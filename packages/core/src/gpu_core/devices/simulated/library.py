"""A simulated node as an NVML library: an object with functions of the C names, working on C structures.

Put where the NVML binding keeps its library, it makes the code that reads real GPUs read simulated ones. A function
that is not here is answered like one that a driver does not have.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import pynvml

from gpu_core.devices.simulated.c_values import number, text
from gpu_core.devices.simulated.commands import call_name
from gpu_core.devices.simulated.event_calls import EVENT_CALLS
from gpu_core.devices.simulated.gpu_calls import GPU_CALLS
from gpu_core.devices.simulated.handles import Handles
from gpu_core.devices.simulated.link_calls import LINK_CALLS
from gpu_core.devices.simulated.mig_calls import MIG_CALLS
from gpu_core.devices.simulated.state import SimulatedState, Unit

CALLS: Mapping[str, Callable[..., int]] = MappingProxyType({**GPU_CALLS, **MIG_CALLS, **LINK_CALLS, **EVENT_CALLS})
"""Every function by its C name without `nvml` and version suffix."""

_LONG = "EventSetWait"
"""The one call that takes its time by itself, while others go on."""

_OF_NO_DEVICE = frozenset(
    {
        "Init",
        "Shutdown",
        "SystemGetDriverVersion",
        "SystemGetCudaDriverVersion",
        "DeviceGetCount",
        "DeviceGetHandleByIndex",
        "DeviceGetHandleByUUID",
        "EventSetCreate",
        "EventSetFree",
        "EventSetWait",
    }
)
"""The calls whose first argument is no handle of a device."""


class SimulatedFunction:
    """A C function; the binding sets attributes on it, as on those of ctypes."""

    def __init__(self, library: SimulatedLibrary, call: str) -> None:
        self._library = library
        self._call = call
        self.restype: Any = None

    def __call__(self, *args: Any) -> int:
        """Run the function; returns NVML's return value."""
        return self._library.call(self._call, args)


class SimulatedLibrary:
    """The library of one simulated node."""

    def __init__(self, state: SimulatedState) -> None:
        self.handles = Handles(state)
        self._state = state

    def __getattr__(self, name: str) -> SimulatedFunction:
        call = call_name(name)
        if not name.startswith("nvml") or call not in CALLS:
            raise AttributeError(name)
        return SimulatedFunction(self, call)

    def call(self, call: str, args: tuple[Any, ...]) -> int:
        """Run a function, unless it is told to fail or its device is gone, and as late as it is told to answer.

        Returns NVML's return value.
        """
        self._state.hold(call, lambda: self._concerned(call, args))
        if call == _LONG:
            return self._answer(call, args)
        # What happens to the node happens before or after a call, never in the middle.
        with self._state.lock:
            return self._answer(call, args)

    def _answer(self, call: str, args: tuple[Any, ...]) -> int:
        code = self._state.failure(call, lambda: self._concerned(call, args))
        if code is not None:
            return int(getattr(pynvml, f"NVML_ERROR_{code}", pynvml.NVML_ERROR_UNKNOWN))
        if call not in _OF_NO_DEVICE and self.handles.unit(args[0]) is None:
            return self.handles.refusal(args[0])
        return CALLS[call](self.handles, *args)

    def _concerned(self, call: str, args: tuple[Any, ...]) -> Unit | None:
        """Return the GPU or MIG device that a call is about, None where it is there no more or is about none."""
        if call == "DeviceGetHandleByIndex":
            return self._state.gpus().get(number(args[0]))
        if call == "DeviceGetHandleByUUID":
            return self.handles.find(text(args[0]).decode("ascii", "replace"))
        return None if call in _OF_NO_DEVICE else self.handles.unit(args[0])
