"""NVML's event set: what the driver reports of GPUs, and what a GPU answers when asked."""

from __future__ import annotations

import contextlib
import ctypes
import threading
from typing import Any

import pynvml

from gpu_core.devices.backend import (
    RECOVERY_ACTIONS,
    Answer,
    DeviceEvent,
    EventKind,
    Probe,
    RecoveryAction,
    Watch,
    Watching,
)
from gpu_core.devices.driver_threads import DriverThreads
from gpu_core.devices.model import Fault, Gpu
from gpu_core.devices.nvml.calls import NOT_OFFERED, attempt, may
from gpu_core.errors import Ending, NvmlCallError

_KINDS = {
    pynvml.nvmlEventTypeXidCriticalError: EventKind.XID,
    pynvml.nvmlEventTypeDoubleBitEccError: EventKind.DOUBLE_BIT_ECC,
    pynvml.nvmlEventTypeSingleBitEccError: EventKind.SINGLE_BIT_ECC,
}
_WANTED = sum(_KINDS)

_PLACED = "MIG-GPU-"
"""How the UUID of a MIG device begins that ends in its GPU and compute instance, as older drivers make them."""

_FREE = "EventSetFree"

_CLOSED = Fault(call=_FREE, code="UNINITIALIZED")
"""What is said of a GPU that is asked when its event set was given up; nobody listens any more."""

_NO_INSTANCE = 0xFFFFFFFF
"""The instance number of events that concern a whole GPU."""


class NvmlMonitor:
    """One event set. Raises NvmlCallError when it cannot be created."""

    def __init__(self, threads: DriverThreads) -> None:
        self._threads = threads
        created = threads.run("event set", lambda: attempt("EventSetCreate", pynvml.nvmlEventSetCreate))
        if isinstance(created, Fault):
            raise NvmlCallError(f"{created}.", call=created.call, code=created.code)
        self._set = created
        # Guards how many calls are in the set, and whether it is to be freed: under a call, that could crash us.
        self._lock = threading.Lock()
        self._inside = 0
        self._closed = False
        # A GPU that has an XID may not answer any more, not even who it is.
        self._names: dict[int, str] = {}

    def ask(self, gpu: Gpu, *, watch: bool) -> Answer:
        """Look a GPU up, ask for its events where that is due, and for its memory, which is read from the device."""
        with self._lock:
            if self._closed:
                return Answer(
                    watching=Watching(gpu=_CLOSED) if watch else None, probe=Probe(fault=_CLOSED, recovery=None)
                )
            self._inside += 1
        try:
            return self._ask(gpu, watch=watch)
        finally:
            if self._leave():
                # Nobody waits for this any more.
                attempt(_FREE, pynvml.nvmlEventSetFree, self._set)

    def _ask(self, gpu: Gpu, *, watch: bool) -> Answer:
        handle = attempt("DeviceGetHandleByUUID", _handle, gpu.uuid)
        if isinstance(handle, Fault):
            return Answer(watching=Watching(gpu=handle) if watch else None, probe=Probe(fault=handle, recovery=None))
        watching = None
        if watch or self._names.get(_address(handle)) != gpu.uuid:
            watching = Watching(gpu=self._watch(gpu, handle), mig=_lost_parts(gpu))
            if watching.gpu is not Watch.WATCHED:
                # It may be asked in vain for a while only, so the next round asks again.
                self._names.pop(_address(handle), None)
        memory = attempt("DeviceGetMemoryInfo", pynvml.nvmlDeviceGetMemoryInfo, handle)
        fault = memory if isinstance(memory, Fault) and memory.code not in NOT_OFFERED else None
        return Answer(watching=watching, probe=Probe(fault=fault, recovery=_recovery(handle)))

    def _watch(self, gpu: Gpu, handle: Any) -> Watch | Fault:
        """Ask for the events that a GPU supports of those that matter."""
        supported = attempt("DeviceGetSupportedEventTypes", pynvml.nvmlDeviceGetSupportedEventTypes, handle)
        if isinstance(supported, Fault):
            return Watch.UNSUPPORTED if supported.code == "NOT_SUPPORTED" else supported
        # Before the registration, since an event may come with it. A GPU that comes back has another handle.
        for former in [known for known, uuid in tuple(self._names.items()) if uuid == gpu.uuid]:
            self._names.pop(former, None)
        self._names[_address(handle)] = gpu.uuid
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
            gpu_uuid=self._name(data.device),
            data=int(data.eventData),
            gpu_instance=_instance(data.gpuInstanceId),
            compute_instance=_instance(data.computeInstanceId),
        )

    def close(self) -> None:
        """Give the event set back; with a call still in it, as soon as that returns."""
        with self._lock:
            self._closed = True
            free = not self._inside
        if free:
            with contextlib.suppress(Ending):
                self._threads.run(_FREE, lambda: attempt(_FREE, pynvml.nvmlEventSetFree, self._set))

    def _leave(self) -> bool:
        """Note that a call is over; return whether it was the last one that kept the set from being freed."""
        with self._lock:
            self._inside -= 1
            return self._closed and not self._inside

    def _name(self, handle: Any) -> str | None:
        known = self._names.get(_address(handle))
        if known is not None:
            return known
        # A driver may give one GPU several handles; only then is it asked, and not for long.
        answer = self._threads.run("event's GPU", lambda: attempt("DeviceGetUUID", pynvml.nvmlDeviceGetUUID, handle))
        return None if isinstance(answer, Fault) else str(answer)


def _handle(uuid: str) -> Any:
    return pynvml.nvmlDeviceGetHandleByUUID(uuid.encode())


def _address(handle: Any) -> int:
    # Casting it would tie the handle to itself, so that it could not be freed at once.
    return ctypes.c_void_p.from_buffer(handle).value or 0


def _lost_parts(gpu: Gpu) -> dict[str, Fault]:
    """Return the MIG devices of a GPU that the driver does not find, which no event could be told of.

    Those of older drivers carry their place in their UUID and need not be looked up.
    """
    parts = {
        mig.uuid: attempt("DeviceGetHandleByUUID", _handle, mig.uuid)
        for mig in gpu.mig_devices
        if not mig.uuid.startswith(_PLACED)
    }
    return {uuid: handle for uuid, handle in parts.items() if isinstance(handle, Fault)}


def _instance(number: int) -> int | None:
    return None if number == _NO_INSTANCE else int(number)


def _recovery(handle: Any) -> RecoveryAction | None:
    # Drivers before 570 do not have this field.
    fields = [pynvml.NVML_FI_DEV_GET_GPU_RECOVERY_ACTION]
    values = may("DeviceGetFieldValues", pynvml.nvmlDeviceGetFieldValues, handle, fields)
    if values is None or values[0].nvmlReturn != pynvml.NVML_SUCCESS:
        return None
    return RECOVERY_ACTIONS.get(int(values[0].value.uiVal), RecoveryAction.UNKNOWN)
