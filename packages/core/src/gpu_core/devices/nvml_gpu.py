"""Reads one GPU through NVML: a call that fails costs its own fact, and says so, and nothing else."""

from __future__ import annotations

import uuid as uuids
from collections.abc import Mapping
from typing import Any

import pynvml

from gpu_core.devices.model import Fabric, Fault, Gpu, MigDevice, UnreadableGpu, UnreadableMig
from gpu_core.devices.node_files import NodeFiles
from gpu_core.devices.nvml_calls import Facts, attempt, may
from gpu_core.devices.nvml_mig import MigParent, holds_mig_devices, read_mig_devices
from gpu_core.devices.pci import kernel_address

_ATS = 2
"""NVML_DEVICE_ADDRESSING_MODE_ATS: the GPU's memory is in the host's address space."""


def read_gpu(
    index: int, handle: Any, files: NodeFiles, minors: Mapping[str, int], *, own_node: bool = True
) -> Gpu | UnreadableGpu:
    """Return one GPU; without a UUID it cannot be named.

    `minors` are those of MIG capabilities, by path. `own_node` tells that each GPU has a device node, whose number has
    to be known; on WSL they share one and have no numbers.
    """
    identity = attempt("DeviceGetUUID", pynvml.nvmlDeviceGetUUID, handle)
    if isinstance(identity, Fault):
        return UnreadableGpu(index=index, fault=identity)
    facts, gaps = Facts(), Facts()
    name = facts.need("DeviceGetName", pynvml.nvmlDeviceGetName, handle)
    ask_minor = facts.need if own_node else facts.need_if_offered
    minor = ask_minor("DeviceGetMinorNumber", pynvml.nvmlDeviceGetMinorNumber, handle)
    capability = facts.need("DeviceGetCudaComputeCapability", pynvml.nvmlDeviceGetCudaComputeCapability, handle)
    bus_id = facts.need_if_offered("DeviceGetPciInfo", _bus_id, handle)
    mig_mode = facts.need_if_offered("DeviceGetMigMode", pynvml.nvmlDeviceGetMigMode, handle)
    memory = may("DeviceGetMemoryInfo", pynvml.nvmlDeviceGetMemoryInfo, handle)
    address = None if bus_id is None else kernel_address(bus_id)
    pci = None if address is None else files.pci(address)
    mig_max = 0
    mig_devices: tuple[MigDevice, ...] = ()
    unreadable_mig: tuple[UnreadableMig, ...] = ()
    if mig_mode is None and facts.none_of("DeviceGetMigMode") and holds_mig_devices(handle):
        # Offered whole, it would be given away under those who use its parts.
        facts.add(Fault(call="DeviceGetMigMode", code="NOT_SUPPORTED"))
    if mig_mode is not None:
        mig_max = facts.need("DeviceGetMaxMigDeviceCount", pynvml.nvmlDeviceGetMaxMigDeviceCount, handle) or 0
    total = None if memory is None else int(memory.total)
    if mig_mode is not None and mig_mode[0] == pynvml.NVML_DEVICE_MIG_ENABLE:
        parent = MigParent(handle=handle, index=index, uuid=identity, minor=minor, memory=total, minors=minors)
        mig_devices, unreadable_mig = read_mig_devices(parent, mig_max)
    return Gpu(
        index=index,
        uuid=identity,
        name=name,
        minor=minor,
        pci_bus_id=bus_id,
        pci=pci,
        numa_node=None if pci is None else pci.numa_node,
        memory=total,
        compute_capability=None if capability is None else (capability[0], capability[1]),
        brand=may("DeviceGetBrand", pynvml.nvmlDeviceGetBrand, handle),
        mig_capable=mig_mode is not None,
        mig_enabled=mig_mode is not None and mig_mode[0] == pynvml.NVML_DEVICE_MIG_ENABLE,
        mig_max=mig_max,
        mig_devices=mig_devices,
        unreadable_mig=unreadable_mig,
        fabric=_fabric(handle, gaps),
        coherent_memory=may("DeviceGetAddressingMode", pynvml.nvmlDeviceGetAddressingMode, handle) == _ATS,
        faults=facts.faults,
        gaps=gaps.faults,
    )


def _fabric(handle: Any, gaps: Facts) -> Fabric | None:
    info = pynvml.c_nvmlGpuFabricInfo_t()
    given = gaps.need_if_offered(
        "DeviceGetGpuFabricInfo", pynvml.nvmlDeviceGetGpuFabricInfo, handle, pynvml.byref(info)
    )
    if given is None:
        return None
    return Fabric(
        state=int(info.state),
        status=int(info.status),
        clique=int(info.cliqueId),
        cluster_uuid=str(uuids.UUID(bytes=bytes(info.clusterUuid))),
    )


def _bus_id(handle: Any) -> str:
    # The binding decodes a structure's text when it is looked at, which belongs to the call that may fail.
    bus_id: str = pynvml.nvmlDeviceGetPciInfo(handle).busId
    return bus_id
