"""NVML's event set: what the driver reports of GPUs, and what a GPU answers when asked."""

from __future__ import annotations

from typing import Any

import pynvml

from gpu_core.devices.events import RECOVERY_ACTIONS, DeviceEvent, EventKind, Probe, RecoveryAction, Watch
from gpu_core.devices.model import Fault, Gpu
from gpu_core.devices.nvml_calls import ask, attempt, may
from gpu_core.errors import NvmlCallError

_KINDS = {
    pynvml.nvmlEventTypeXidCriticalError: EventKind.XID,
    pynvml.nvmlEventTypeDoubleBitEccError: EventKind.DOUBLE_BIT_ECC,
    pynvml.nvmlEventTypeSingleBitEccError: EventKind.SINGLE_BIT_ECC,
}
_WANTED = sum(_KINDS)

_NO_INSTANCE = 0xFFFFFFFF
"""The instance number of events that concern a whole GPU."""


class NvmlMonitor:
    """One event set. Raises NvmlCallError when it cannot be created."""

    def __init__(self) -> None:
        self._set = ask("EventSetCreate", pynvml.nvmlEventSetCreate)

    def watch(self, gpu: Gpu) -> Watch | Fault:
        """Ask for the events that a GPU supports of those that matter."""
        handle = attempt("DeviceGetHandleByUUID", _handle, gpu.uuid)
        if isinstance(handle, Fault):
            return handle
        supported = attempt("DeviceGetSupportedEventTypes", pynvml.nvmlDeviceGetSupportedEventTypes, handle)
        if isinstance(supported, Fault):
            return Watch.UNSUPPORTED if supported.code == "NOT_SUPPORTED" else supported
        wanted = supported & _WANTED
        if not wanted:
            # As on some virtual GPUs; what a driver says to a registration for nothing is not documented.
            return Watch.UNSUPPORTED
        done = attempt("DeviceRegisterEvents", pynvml.nvmlDeviceRegisterEvents, handle, wanted, self._set)
        if isinstance(done, Fault):
            return Watch.UNSUPPORTED if done.code == "NOT_SUPPORTED" else done
        return Watch.WATCHED

    def wait(self, timeout: float) -> DeviceEvent | None:
        """Wait at most `timeout` seconds for an event. Raises NvmlCallError when waiting fails."""
        milliseconds = max(0, round(timeout * 1000))
        data = attempt("EventSetWait", pynvml.nvmlEventSetWait_v2, self._set, milliseconds)
        if isinstance(data, Fault):
            if data.code == "TIMEOUT":
                return None
            raise NvmlCallError(f"{data}.", call=data.call, code=data.code)
        kind = _KINDS.get(int(data.eventType))
        if kind is None:
            return None
        return DeviceEvent(
            kind=kind,
            gpu_uuid=may("DeviceGetUUID", pynvml.nvmlDeviceGetUUID, data.device),
            data=int(data.eventData),
            gpu_instance=_instance(data.gpuInstanceId),
            compute_instance=_instance(data.computeInstanceId),
        )

    def probe(self, gpu: Gpu) -> Probe:
        """Look a GPU up and ask it for its memory, which has to be read from the device."""
        handle = attempt("DeviceGetHandleByUUID", _handle, gpu.uuid)
        if isinstance(handle, Fault):
            return Probe(fault=handle, recovery=None)
        memory = attempt("DeviceGetMemoryInfo", pynvml.nvmlDeviceGetMemoryInfo, handle)
        fault = memory if isinstance(memory, Fault) and memory.code != "NOT_SUPPORTED" else None
        return Probe(fault=fault, recovery=_recovery(handle))

    def close(self) -> None:
        """Give the event set back."""
        attempt("EventSetFree", pynvml.nvmlEventSetFree, self._set)


def _handle(uuid: str) -> Any:
    return pynvml.nvmlDeviceGetHandleByUUID(uuid.encode())


def _instance(number: int) -> int | None:
    return None if number == _NO_INSTANCE else int(number)


def _recovery(handle: Any) -> RecoveryAction | None:
    # Drivers before 570 do not have this field.
    fields = [pynvml.NVML_FI_DEV_GET_GPU_RECOVERY_ACTION]
    values = may("DeviceGetFieldValues", pynvml.nvmlDeviceGetFieldValues, handle, fields)
    if values is None or values[0].nvmlReturn != pynvml.NVML_SUCCESS:
        return None
    return RECOVERY_ACTIONS.get(int(values[0].value.uiVal), RecoveryAction.UNKNOWN)
