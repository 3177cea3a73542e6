"""Reads the node's GPUs through NVML."""

from __future__ import annotations

from typing import Any

import pynvml

from gpu_core.devices.advice import not_started
from gpu_core.devices.events import HealthMonitor
from gpu_core.devices.model import Fault, Gpu, Inventory, Platform, UnreadableGpu
from gpu_core.devices.node_files import NodeFiles
from gpu_core.devices.nvml_calls import ask, attempt, may
from gpu_core.devices.nvml_gpu import read_gpu
from gpu_core.devices.nvml_library import install, unload
from gpu_core.devices.nvml_links import read_links
from gpu_core.devices.nvml_monitor import NvmlMonitor
from gpu_core.errors import NvmlCallError


class NvmlBackend:
    """NVML, initialized on the library that was given, for as long as this is open.

    Only one may be open in a process, since the binding has one place for its library. Raises NvmlCallError when
    NVML cannot be initialized.
    """

    def __init__(self, library: Any, files: NodeFiles, platform: Platform = Platform.NVML) -> None:
        install(library)
        started = attempt("Init", pynvml.nvmlInit)
        if isinstance(started, Fault):
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
        found = [
            self._read_gpu(index, minors or {}) for index in range(ask("DeviceGetCount", pynvml.nvmlDeviceGetCount))
        ]
        handles = {gpu.uuid: handle for gpu, handle in found if isinstance(gpu, Gpu)}
        gpus = tuple(gpu for gpu, _ in found if isinstance(gpu, Gpu))
        driver = attempt("SystemGetDriverVersion", pynvml.nvmlSystemGetDriverVersion)
        cuda = attempt("SystemGetCudaDriverVersion", pynvml.nvmlSystemGetCudaDriverVersion_v2)
        return Inventory(
            platform=self._platform,
            gpus=gpus,
            unreadable=tuple(gpu for gpu, _ in found if isinstance(gpu, UnreadableGpu)),
            driver_version=None if isinstance(driver, Fault) else driver,
            cuda_version=None if isinstance(cuda, Fault) else (cuda // 1000, cuda % 1000 // 10),
            links=read_links([(gpu, handles[gpu.uuid]) for gpu in gpus]) if links else (),
            mig_minors_known=minors is not None,
            faults=tuple(answer for answer in (driver, cuda) if isinstance(answer, Fault)),
        )

    def names(self) -> tuple[str, ...] | None:
        """Return the product names alone; None when one of them cannot be had."""
        count = attempt("DeviceGetCount", pynvml.nvmlDeviceGetCount)
        handles = (
            [] if isinstance(count, Fault) else [may("DeviceGetHandleByIndex", _by_index, i) for i in range(count)]
        )
        names = [
            None if handle is None else may("DeviceGetName", pynvml.nvmlDeviceGetName, handle) for handle in handles
        ]
        return None if None in names else tuple(name for name in names if name is not None)

    def monitor(self) -> HealthMonitor:
        """Open an event set. Raises NvmlCallError when there is none to be had."""
        return NvmlMonitor()

    def close(self) -> None:
        """Shut NVML down and unload it; a failure of that changes nothing for anybody."""
        attempt("Shutdown", pynvml.nvmlShutdown)
        unload(self._library)

    def _read_gpu(self, index: int, minors: Any) -> tuple[Gpu | UnreadableGpu, Any]:
        handle = attempt("DeviceGetHandleByIndex", _by_index, index)
        if isinstance(handle, Fault):
            return UnreadableGpu(index=index, fault=handle), None
        own_node = self._platform is not Platform.WSL
        return read_gpu(index, handle, self._files, minors, own_node=own_node), handle


def _by_index(index: int) -> Any:
    return pynvml.nvmlDeviceGetHandleByIndex(index)
