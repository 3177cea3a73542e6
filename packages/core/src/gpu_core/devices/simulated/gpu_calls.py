"""NVML's functions about the system and about single GPUs, answered from a simulated node."""

from __future__ import annotations

import uuid as uuids
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import pynvml

from gpu_core.devices.model import Platform
from gpu_core.devices.simulated.c_values import number, put_number, put_pointer, put_text, target, text
from gpu_core.devices.simulated.handles import Handles
from gpu_core.devices.simulated.node import SimulatedGpu, SimulatedMig

SUCCESS = int(pynvml.NVML_SUCCESS)
NOT_SUPPORTED = int(pynvml.NVML_ERROR_NOT_SUPPORTED)
NOT_FOUND = int(pynvml.NVML_ERROR_NOT_FOUND)
INVALID_ARGUMENT = int(pynvml.NVML_ERROR_INVALID_ARGUMENT)
GPU_IS_LOST = int(pynvml.NVML_ERROR_GPU_IS_LOST)

_UNSIGNED_INT = 1


def _done(_handles: Handles, *_args: Any) -> int:
    return SUCCESS


def _driver_version(handles: Handles, buffer: Any, _size: Any) -> int:
    put_text(buffer, handles.state.node.driver)
    return SUCCESS


def _cuda_version(handles: Handles, version: Any) -> int:
    put_number(version, handles.state.node.cuda)
    return SUCCESS


def _count(handles: Handles, count: Any) -> int:
    # A GPU that is gone keeps its index, as one that fell off the bus does until the driver starts anew.
    put_number(count, len(handles.state.node.gpus))
    return SUCCESS


def _handle_by_index(handles: Handles, index: Any, handle: Any) -> int:
    if not 0 <= number(index) < len(handles.state.node.gpus):
        return INVALID_ARGUMENT
    gpu = handles.state.gpus().get(number(index))
    if gpu is None:
        return GPU_IS_LOST
    put_pointer(handle, handles.give(gpu))
    return SUCCESS


def _handle_by_uuid(handles: Handles, uuid: Any, handle: Any) -> int:
    unit = handles.find(text(uuid).decode("ascii", "replace"))
    if unit is None:
        return NOT_FOUND
    put_pointer(handle, handles.give(unit))
    return SUCCESS


def _name(handles: Handles, device: Any, buffer: Any, _size: Any) -> int:
    unit = handles.unit(device)
    if unit is None:
        return INVALID_ARGUMENT
    name = handles.parent(unit).name
    put_text(buffer, f"{name} MIG {unit.profile.name}" if isinstance(unit, SimulatedMig) else name)
    return SUCCESS


def _uuid(handles: Handles, device: Any, buffer: Any, _size: Any) -> int:
    unit = handles.unit(device)
    if unit is None:
        return INVALID_ARGUMENT
    put_text(buffer, unit.uuid)
    return SUCCESS


def _minor(handles: Handles, device: Any, minor: Any) -> int:
    gpu = handles.unit(device)
    if not isinstance(gpu, SimulatedGpu):
        return INVALID_ARGUMENT
    # There, all GPUs are reached through one node, and the Windows driver has no numbers for them.
    if handles.state.node.platform is Platform.WSL:
        return NOT_SUPPORTED
    put_number(minor, gpu.minor)
    return SUCCESS


def _brand(handles: Handles, device: Any, brand: Any) -> int:
    gpu = handles.unit(device)
    if not isinstance(gpu, SimulatedGpu):
        return NOT_SUPPORTED
    put_number(brand, gpu.brand)
    return SUCCESS


def _pci_info(handles: Handles, device: Any, info: Any) -> int:
    gpu = handles.unit(device)
    if not isinstance(gpu, SimulatedGpu):
        return INVALID_ARGUMENT
    domain, bus, rest = gpu.bus_id.split(":")
    pci = target(info)
    pci.busId = gpu.bus_id.encode()
    pci.domain, pci.bus, pci.device = int(domain, 16), int(bus, 16), int(rest.partition(".")[0], 16)
    pci.pciDeviceId = gpu.pci_id
    return SUCCESS


def _memory(handles: Handles, device: Any, info: Any) -> int:
    unit = handles.unit(device)
    if unit is None:
        return INVALID_ARGUMENT
    total = unit.attributes.memory_mib << 20 if isinstance(unit, SimulatedMig) else unit.memory
    if total is None:
        return NOT_SUPPORTED
    memory = target(info)
    memory.total, memory.free, memory.used = total, total, 0
    return SUCCESS


def _compute_capability(handles: Handles, device: Any, major: Any, minor: Any) -> int:
    unit = handles.unit(device)
    if unit is None:
        return INVALID_ARGUMENT
    capability = handles.parent(unit).compute_capability
    put_number(major, capability[0])
    put_number(minor, capability[1])
    return SUCCESS


def _addressing_mode(handles: Handles, device: Any, mode: Any) -> int:
    gpu = handles.unit(device)
    if not isinstance(gpu, SimulatedGpu) or gpu.addressing_mode is None:
        return NOT_SUPPORTED
    put_number(mode, gpu.addressing_mode)
    return SUCCESS


def _fabric_info(handles: Handles, device: Any, info: Any) -> int:
    gpu = handles.unit(device)
    if not isinstance(gpu, SimulatedGpu) or gpu.fabric is None:
        return NOT_SUPPORTED
    out = target(info)
    for place, byte in enumerate(uuids.UUID(gpu.fabric.cluster_uuid).bytes):
        out.clusterUuid[place] = byte
    out.status, out.cliqueId, out.state = gpu.fabric.status, gpu.fabric.clique, gpu.fabric.state
    return SUCCESS


def _field_values(handles: Handles, device: Any, count: Any, values: Any) -> int:
    gpu = handles.unit(device)
    recovery = gpu.recovery if isinstance(gpu, SimulatedGpu) else None
    for place in range(number(count)):
        field = target(values)[place]
        if field.fieldId == pynvml.NVML_FI_DEV_GET_GPU_RECOVERY_ACTION and recovery is not None:
            field.nvmlReturn, field.valueType = SUCCESS, _UNSIGNED_INT
            field.value.uiVal = recovery
        else:
            field.nvmlReturn = NOT_SUPPORTED
    return SUCCESS


GPU_CALLS: Mapping[str, Callable[..., int]] = MappingProxyType(
    {
        "Init": _done,
        "Shutdown": _done,
        "SystemGetDriverVersion": _driver_version,
        "SystemGetCudaDriverVersion": _cuda_version,
        "DeviceGetCount": _count,
        "DeviceGetHandleByIndex": _handle_by_index,
        "DeviceGetHandleByUUID": _handle_by_uuid,
        "DeviceGetName": _name,
        "DeviceGetUUID": _uuid,
        "DeviceGetMinorNumber": _minor,
        "DeviceGetBrand": _brand,
        "DeviceGetPciInfo": _pci_info,
        "DeviceGetMemoryInfo": _memory,
        "DeviceGetCudaComputeCapability": _compute_capability,
        "DeviceGetAddressingMode": _addressing_mode,
        "DeviceGetGpuFabricInfo": _fabric_info,
        "DeviceGetFieldValues": _field_values,
    }
)
