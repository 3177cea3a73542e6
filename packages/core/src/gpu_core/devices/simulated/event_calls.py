"""NVML's functions about events, answered from a simulated node."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from ctypes import c_void_p
from types import MappingProxyType
from typing import Any

import pynvml

from gpu_core.devices.simulated.c_values import address, number, put_number, put_pointer, target
from gpu_core.devices.simulated.commands import Happen
from gpu_core.devices.simulated.gpu_calls import INVALID_ARGUMENT, NOT_SUPPORTED, SUCCESS
from gpu_core.devices.simulated.handles import Handles
from gpu_core.devices.simulated.node import SimulatedGpu
from gpu_core.devices.simulated.state import STEP, SimulatedState


def _create(handles: Handles, events: Any) -> int:
    handle = handles.new_number()
    handles.state.event_sets.open(handle)
    put_pointer(events, handle)
    return SUCCESS


def _free(handles: Handles, events: Any) -> int:
    return SUCCESS if handles.state.event_sets.close(address(events)) else INVALID_ARGUMENT


def _supported_types(handles: Handles, device: Any, mask: Any) -> int:
    gpu = handles.unit(device)
    put_number(mask, gpu.events if isinstance(gpu, SimulatedGpu) else 0)
    return SUCCESS


def _register(handles: Handles, device: Any, mask: Any, events: Any) -> int:
    gpu = handles.unit(device)
    if not isinstance(gpu, SimulatedGpu) or not gpu.events:
        return NOT_SUPPORTED
    known = handles.state.event_sets.register(address(events), gpu.uuid, number(mask))
    return SUCCESS if known else INVALID_ARGUMENT


def _wait(handles: Handles, events: Any, data: Any, milliseconds: Any) -> int:
    end = time.monotonic() + number(milliseconds) / 1000
    while (taken := _take(handles, address(events))) is None:
        # Told to fail while we wait.
        code = handles.state.failure("EventSetWait", lambda: None)
        if code is not None:
            return int(getattr(pynvml, f"NVML_ERROR_{code}", pynvml.NVML_ERROR_UNKNOWN))
        if not _news_before(end, handles.state):
            return int(pynvml.NVML_ERROR_TIMEOUT)
    device, event = taken
    out = target(data)
    out.device = pynvml.c_nvmlDevice_t.from_buffer(c_void_p(device))
    out.eventType, out.eventData = event.kind, event.data
    out.gpuInstanceId, out.computeInstanceId = event.gpu_instance, event.compute_instance
    return SUCCESS


def _take(handles: Handles, number: int) -> tuple[int, Happen] | None:
    """Return the oldest event of a set, with the handle that its GPU has now."""
    with handles.state.lock:
        handles.state.follow()
        taken = handles.state.event_sets.take(number)
        # An event is dropped when its GPU leaves, so the GPU of one that waited is there.
        gpu = None if taken is None else handles.find(taken[0])
        return None if taken is None or gpu is None else (handles.give(gpu), taken[1])


def _news_before(end: float, state: SimulatedState) -> bool:
    """Wait until the events file has grown, and tell whether it has; where there is none, nothing can happen."""
    while (left := end - time.monotonic()) > 0:
        time.sleep(min(STEP, left) if state.may_change else left)
        if state.has_news():
            return True
    return False


EVENT_CALLS: Mapping[str, Callable[..., int]] = MappingProxyType(
    {
        "EventSetCreate": _create,
        "EventSetFree": _free,
        "EventSetWait": _wait,
        "DeviceGetSupportedEventTypes": _supported_types,
        "DeviceRegisterEvents": _register,
    }
)
