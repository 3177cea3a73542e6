"""Opens a simulated node with the same code that reads real hardware."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from gpu_core.config.words import DeviceDiscoveryStrategy
from gpu_core.devices.backend import Backend
from gpu_core.devices.cuda import Cuda, MissingCuda
from gpu_core.devices.driver_threads import DriverThreads
from gpu_core.devices.model import Fault, PciFacts, Platform
from gpu_core.devices.nvml.reader import NvmlBackend
from gpu_core.devices.platform import PlatformFacts, choose_platform
from gpu_core.devices.simulated.library import SimulatedLibrary
from gpu_core.devices.simulated.node import CudaDevice, SimulatedNode, pci_facts
from gpu_core.devices.simulated.state import SimulatedState
from gpu_core.devices.tegra import TegraBackend
from gpu_core.devices.vfio import BoundFunction, VfioBackend
from gpu_core.errors import DriverMissingError


class SimulatedFiles:
    """The files of a simulated node, none of which is the machine's own."""

    def __init__(self, node: SimulatedNode) -> None:
        self._functions = {facts.address: facts for facts in node.pci_functions()}
        self._minors = node.minors()

    def pci(self, address: str) -> PciFacts | None:
        """Return what sysfs would hold of a PCI function."""
        return self._functions.get(address)

    def mig_minors(self) -> Mapping[str, int] | None:
        """Return what the driver's file would list."""
        return self._minors


class SimulatedCuda:
    """The libcuda of a simulated Tegra chip."""

    def __init__(self, device: CudaDevice, version: int) -> None:
        self._device = device
        self._version = version

    def init(self) -> Fault | None:
        """Start CUDA, which always works."""
        return None

    def driver_version(self) -> tuple[int, int] | Fault:
        """Return the node's CUDA version."""
        return self._version // 1000, self._version % 1000 // 10

    def count(self) -> int | Fault:
        """Return 1: a chip has one GPU."""
        return 1

    def name(self, index: int) -> str | Fault:  # noqa: ARG002
        """Return the product name."""
        return self._device.name

    def memory(self, index: int) -> int | Fault:  # noqa: ARG002
        """Return the memory in bytes."""
        return self._device.memory

    def compute_capability(self, index: int) -> tuple[int, int] | Fault:  # noqa: ARG002
        """Return (major, minor)."""
        return self._device.compute_capability


def open_simulated(
    node: SimulatedNode, strategy: DeviceDiscoveryStrategy, events: Path | None, threads: DriverThreads | None = None
) -> Backend:
    """Return the backend that a program would open on such a node. Raises HardwareError as on a real one."""
    platform = choose_platform(strategy, _facts(node))
    match platform:
        case Platform.NVML | Platform.WSL:
            library = SimulatedLibrary(SimulatedState(node, events))
            return NvmlBackend(library, SimulatedFiles(node), platform, threads)
        case Platform.TEGRA:
            cuda: Cuda = MissingCuda() if node.cuda_device is None else SimulatedCuda(node.cuda_device, node.cuda)
            return TegraBackend(cuda, threads)
        case Platform.VFIO:
            bound = tuple(
                BoundFunction(pci=facts, memory=gpu.memory)
                for gpu in node.gpus
                if (facts := pci_facts(gpu)) is not None
            )
            names = {gpu.pci_id >> 16: gpu.name for gpu in node.gpus}
            return VfioBackend(lambda: bound, names.get)
        case None:
            raise DriverMissingError(
                f"The simulated node {node.name} has no NVIDIA driver: its GPUs are bound to vfio-pci. "
                "Choose --device-discovery-strategy=vfio, or another node."
            )


def _facts(node: SimulatedNode) -> PlatformFacts:
    return PlatformFacts(
        dxcore=node.platform is Platform.WSL,
        tegra=node.platform is Platform.TEGRA,
        nvml=node.platform in (Platform.NVML, Platform.WSL),
        gpu_names=tuple(gpu.name for gpu in node.gpus),
    )
