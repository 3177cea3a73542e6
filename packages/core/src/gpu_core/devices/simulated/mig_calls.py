"""NVML's functions about MIG, answered from a simulated node."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from gpu_core.devices.simulated.c_values import number, put_number, put_pointer, target
from gpu_core.devices.simulated.gpu_calls import INVALID_ARGUMENT, NOT_FOUND, NOT_SUPPORTED, SUCCESS
from gpu_core.devices.simulated.handles import Handles
from gpu_core.devices.simulated.node import SimulatedGpu, SimulatedMig


def _mode(handles: Handles, device: Any, current: Any, pending: Any) -> int:
    gpu = handles.unit(device)
    if not isinstance(gpu, SimulatedGpu) or not gpu.mig_max:
        return NOT_SUPPORTED
    put_number(current, int(gpu.mig_enabled))
    put_number(pending, int(gpu.mig_enabled))
    return SUCCESS


def _most_devices(handles: Handles, device: Any, count: Any) -> int:
    gpu = handles.unit(device)
    put_number(count, gpu.mig_max if isinstance(gpu, SimulatedGpu) else 0)
    return SUCCESS


def _handle_by_index(handles: Handles, device: Any, index: Any, handle: Any) -> int:
    gpu = handles.unit(device)
    for mig in gpu.mig_devices if isinstance(gpu, SimulatedGpu) else ():
        if mig.index == number(index):
            put_pointer(handle, handles.give(mig))
            return SUCCESS
    return NOT_FOUND


def _parent(handles: Handles, device: Any, parent: Any) -> int:
    mig = handles.unit(device)
    if not isinstance(mig, SimulatedMig):
        return INVALID_ARGUMENT
    gpu = handles.parent(mig)
    put_pointer(parent, handles.give(gpu))
    return SUCCESS


def _gpu_instance(handles: Handles, device: Any, instance: Any) -> int:
    mig = handles.unit(device)
    if not isinstance(mig, SimulatedMig):
        return NOT_SUPPORTED
    put_number(instance, mig.gpu_instance)
    return SUCCESS


def _compute_instance(handles: Handles, device: Any, instance: Any) -> int:
    mig = handles.unit(device)
    if not isinstance(mig, SimulatedMig):
        return NOT_SUPPORTED
    put_number(instance, mig.compute_instance)
    return SUCCESS


def _attributes(handles: Handles, device: Any, attributes: Any) -> int:
    mig = handles.unit(device)
    if not isinstance(mig, SimulatedMig):
        return NOT_SUPPORTED
    facts, out = mig.attributes, target(attributes)
    out.multiprocessorCount, out.memorySizeMB = facts.multiprocessors, facts.memory_mib
    out.gpuInstanceSliceCount, out.computeInstanceSliceCount = facts.gpu_instance_slices, facts.compute_instance_slices
    out.sharedCopyEngineCount, out.sharedDecoderCount = facts.copy_engines, facts.decoders
    out.sharedEncoderCount, out.sharedJpegCount, out.sharedOfaCount = (
        facts.encoders,
        facts.jpeg_engines,
        facts.ofa_engines,
    )
    return SUCCESS


def _instance_by_id(handles: Handles, device: Any, wanted: Any, handle: Any) -> int:
    gpu = handles.unit(device)
    if not isinstance(gpu, SimulatedGpu):
        return INVALID_ARGUMENT
    for mig in gpu.mig_devices:
        if mig.gpu_instance == number(wanted):
            put_pointer(handle, handles.give_instance(gpu, mig.gpu_instance, mig.profile))
            return SUCCESS
    return NOT_FOUND


def _instance_info(handles: Handles, handle: Any, info: Any) -> int:
    instance = handles.instance(handle)
    if instance is None:
        return INVALID_ARGUMENT
    out = target(info)
    out.id, out.profileId = instance.number, instance.profile.id
    return SUCCESS


def _profile_info(handles: Handles, device: Any, slot: Any, info: Any) -> int:
    gpu = handles.unit(device)
    for profile in gpu.profiles if isinstance(gpu, SimulatedGpu) else ():
        if profile.slot == number(slot):
            out = target(info)
            out.id, out.sliceCount = profile.id, profile.attributes.gpu_instance_slices
            out.memorySizeMB = profile.attributes.memory_mib
            # Only newer versions of this structure have room for the name.
            if hasattr(out, "name"):
                out.name = f"MIG {profile.name}".encode()
            return SUCCESS
    return NOT_SUPPORTED


MIG_CALLS: Mapping[str, Callable[..., int]] = MappingProxyType(
    {
        "DeviceGetMigMode": _mode,
        "DeviceGetMaxMigDeviceCount": _most_devices,
        "DeviceGetMigDeviceHandleByIndex": _handle_by_index,
        "DeviceGetDeviceHandleFromMigDeviceHandle": _parent,
        "DeviceGetGpuInstanceId": _gpu_instance,
        "DeviceGetComputeInstanceId": _compute_instance,
        "DeviceGetAttributes": _attributes,
        "DeviceGetGpuInstanceById": _instance_by_id,
        "GpuInstanceGetInfo": _instance_info,
        "DeviceGetGpuInstanceProfileInfo": _profile_info,
    }
)
