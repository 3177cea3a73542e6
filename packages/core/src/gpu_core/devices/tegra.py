"""Reads the GPU of a Tegra chip. The kubelet is served one device for all of it; CUDA describes it for labels."""

from __future__ import annotations

from typing import Any

from gpu_core.devices.backend import HealthMonitor
from gpu_core.devices.cuda import Cuda
from gpu_core.devices.driver_threads import START_DEADLINE, DriverThreads
from gpu_core.devices.model import CudaCompat, Fault, Gpu, Inventory, Platform


class TegraBackend:
    """CUDA, asked anew at each read. That CUDA does not answer is a fact of the inventory, and no failure to read.

    `compat` is what NVML told before, where there is one.
    """

    def __init__(self, cuda: Cuda, threads: DriverThreads | None = None, compat: CudaCompat | None = None) -> None:
        self._cuda = cuda
        self._threads = threads or DriverThreads()
        self._compat = compat

    @property
    def platform(self) -> Platform:
        """Tegra."""
        return Platform.TEGRA

    def read(self, *, links: bool = False) -> Inventory:  # noqa: ARG002  One GPU has no links.
        """Read what CUDA knows, if it answers in time. There is no driver version, and no UUID but `tegra`."""
        answer = self._threads.run("cuda", self._read, deadline=START_DEADLINE)
        if isinstance(answer, Fault):
            return self._inventory(faults=(answer,))
        return answer

    def monitor(self) -> HealthMonitor | None:
        """Return None: nothing reports the health of these GPUs."""
        return None

    def close(self) -> None:
        """Do nothing; CUDA ends with the process."""

    def _read(self) -> Inventory:
        fault = self._cuda.init()
        if fault is not None:
            return self._inventory(faults=(fault,))
        version, count = self._cuda.driver_version(), self._cuda.count()
        return self._inventory(
            gpus=() if isinstance(count, Fault) else tuple(self._gpu(index) for index in range(count)),
            cuda_version=None if isinstance(version, Fault) else version,
            faults=tuple(answer for answer in (version, count) if isinstance(answer, Fault)),
        )

    def _inventory(self, **read: Any) -> Inventory:
        return Inventory(platform=self.platform, mig_minors_known=False, cuda_compat=self._compat, **read)

    def _gpu(self, index: int) -> Gpu:
        name = self._cuda.name(index)
        capability = self._cuda.compute_capability(index)
        memory = self._cuda.memory(index)
        return Gpu(
            index=index,
            uuid="tegra" if index == 0 else f"tegra:{index}",
            name=None if isinstance(name, Fault) else name,
            memory=None if isinstance(memory, Fault) else memory,
            compute_capability=None if isinstance(capability, Fault) else capability,
            faults=tuple(answer for answer in (name, capability) if isinstance(answer, Fault)),
        )
