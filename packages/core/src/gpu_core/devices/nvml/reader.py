"""Reads the node's GPUs through NVML: a call that fails costs its own fact, and says so, and nothing else."""

from __future__ import annotations

import contextlib
import uuid as uuids
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import pynvml

from gpu_core.devices.backend import HealthMonitor
from gpu_core.devices.driver_threads import START_DEADLINE, DriverThreads
from gpu_core.devices.model import (
    NO_ANSWER,
    CudaCompat,
    Fabric,
    Fault,
    Gpu,
    Inventory,
    MigDevice,
    PairLink,
    Platform,
    UnreadableGpu,
    UnreadableMig,
)
from gpu_core.devices.node_files import NodeFiles
from gpu_core.devices.nvml.calls import Facts, attempt, may
from gpu_core.devices.nvml.library import install, unload
from gpu_core.devices.nvml.links import read_links
from gpu_core.devices.nvml.mig import MigParent, holds_mig_devices, read_mig_devices
from gpu_core.devices.nvml.monitor import NvmlMonitor
from gpu_core.devices.pci import kernel_address
from gpu_core.devices.platform import is_orin, not_started
from gpu_core.devices.switched_links import GpuLinks, joined
from gpu_core.errors import Ending, NvmlCallError


class NvmlBackend:
    """NVML, initialized on the library that was given, for as long as this is open.

    `threads` are those of the process, for as long as it lives: one GPU that hangs has hung for the next opening too.

    Only one may be open in a process, since the binding has one place for its library. Raises NvmlCallError when
    NVML cannot be initialized.
    """

    def __init__(
        self,
        library: Any,
        files: NodeFiles,
        platform: Platform = Platform.NVML,
        threads: DriverThreads | None = None,
    ) -> None:
        self._threads = threads or DriverThreads()
        install(library)
        started = self._threads.run("driver", lambda: attempt("Init", pynvml.nvmlInit), deadline=START_DEADLINE)
        if isinstance(started, Fault):
            if started.code != NO_ANSWER:
                unload(library)
            raise NvmlCallError(not_started(started), call=started.call, code=started.code)
        self._library = library
        self._files = files
        self._platform = platform

    @property
    def platform(self) -> Platform:
        """The interface behind this backend: NVML itself, or WSL, which offers NVML too."""
        return self._platform

    def read(self, *, links: bool = False) -> Inventory:
        """Read every GPU now. Raises NvmlCallError when not even their number can be had."""
        minors = self._files.mig_minors()
        count = self._count()
        if isinstance(count, Fault):
            raise NvmlCallError(f"{count}.", call=count.call, code=count.code)
        jobs = {("read", index): partial(self._read_gpu, index, minors or {}) for index in range(count)}
        found = [
            (UnreadableGpu(index=index, fault=answer), None) if isinstance(answer, Fault) else answer
            for (_, index), answer in sorted(self._threads.each(jobs), key=lambda item: item[0])
        ]
        gpus = [(gpu, handle) for gpu, handle in found if isinstance(gpu, Gpu)]
        driver, cuda = self._versions()
        return Inventory(
            platform=self._platform,
            gpus=tuple(gpu for gpu, _ in gpus),
            unreadable=tuple(gpu for gpu, _ in found if isinstance(gpu, UnreadableGpu)),
            driver_version=None if isinstance(driver, Fault) else driver,
            cuda_version=None if isinstance(cuda, Fault) else _cuda_version(cuda),
            links=self._links(gpus) if links else (),
            mig_minors_known=minors is not None,
            faults=tuple(answer for answer in (driver, cuda) if isinstance(answer, Fault)),
        )

    def names(self) -> tuple[str, ...] | None:
        """Return the product names alone; None when one of them cannot be had."""
        count = self._count()
        if isinstance(count, Fault):
            return ()
        names = dict(self._threads.each({("name", index): partial(_name, index) for index in range(count)}))
        found = [names["name", index] for index in range(count)]
        return None if any(isinstance(name, Fault) for name in found) else tuple(str(name) for name in found)

    def cuda_compat(self) -> CudaCompat | None:
        """Return what containers that bring a newer CUDA have to know; None when NVML does not tell its version."""
        _, cuda = self._versions()
        names = self.names() or ()
        if isinstance(cuda, Fault):
            return None
        return CudaCompat(version=_cuda_version(cuda), orin=any(map(is_orin, names)))

    def monitor(self) -> HealthMonitor:
        """Open an event set. Raises NvmlCallError when there is none to be had."""
        return NvmlMonitor(self._threads)

    def close(self) -> None:
        """Shut NVML down and unload it; a failure of that changes nothing for anybody.

        With a call still in it, it is left open: shutting it down would crash the process.
        """
        if self._threads.stuck():
            return
        with contextlib.suppress(Ending):
            ended = self._threads.run("driver", lambda: attempt("Shutdown", pynvml.nvmlShutdown))
            if not (isinstance(ended, Fault) and ended.code == NO_ANSWER):
                unload(self._library)

    def _read_gpu(self, index: int, minors: Mapping[str, int]) -> tuple[Gpu | UnreadableGpu, Any]:
        handle = attempt("DeviceGetHandleByIndex", _by_index, index)
        if isinstance(handle, Fault):
            return UnreadableGpu(index=index, fault=handle), None
        own_node = self._platform is not Platform.WSL
        return read_gpu(index, handle, self._files, minors, own_node=own_node), handle

    def _count(self) -> int | Fault:
        return self._threads.run("count", lambda: attempt("DeviceGetCount", pynvml.nvmlDeviceGetCount))

    def _versions(self) -> tuple[str | Fault, int | Fault]:
        """Return the versions of the driver and of CUDA."""
        return (
            self._threads.run(
                "driver version", lambda: attempt("SystemGetDriverVersion", pynvml.nvmlSystemGetDriverVersion)
            ),
            self._threads.run(
                "CUDA version",
                lambda: attempt("SystemGetCudaDriverVersion", pynvml.nvmlSystemGetCudaDriverVersion_v2),
            ),
        )

    def _links(self, gpus: Sequence[tuple[Gpu, Any]]) -> tuple[tuple[PairLink, ...], ...]:
        jobs = {("links", place): partial(read_links, place, gpus, self._files) for place in range(len(gpus))}
        unknown = GpuLinks(ways=tuple(PairLink() for _ in gpus))
        answers = sorted(self._threads.each(jobs), key=lambda item: item[0])
        return joined(
            [gpu for gpu, _ in gpus], [unknown if isinstance(answer, Fault) else answer for _, answer in answers]
        )


def _cuda_version(number: int) -> tuple[int, int]:
    """Return major and minor of a version that NVML writes as one number, 12020 for 12.2."""
    return number // 1000, number % 1000 // 10


def _by_index(index: int) -> Any:
    return pynvml.nvmlDeviceGetHandleByIndex(index)


def _name(index: int) -> str | Fault:
    handle = attempt("DeviceGetHandleByIndex", _by_index, index)
    return handle if isinstance(handle, Fault) else attempt("DeviceGetName", pynvml.nvmlDeviceGetName, handle)


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
