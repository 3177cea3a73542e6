"""Describes GPUs that are bound to vfio-pci, for virtual machines: the kernel's facts, and names from a database."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gpu_core.devices.backend import HealthMonitor
from gpu_core.devices.model import Gpu, Inventory, PciFacts, Platform
from gpu_core.devices.pci import NVIDIA

DRIVER = "vfio-pci"
UNKNOWN_NAME = "UNKNOWN_DEVICE"
"""What the original calls a device that the database does not know."""

_GPU_CLASSES = (0x030000, 0x030200)

_WINDOWS = 6
_TYPE_MASK = 0x06
_TYPE_64_BIT = 0x04


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundFunction:
    """A PCI function that vfio-pci holds. `memory` is what its 64-bit windows address, in bytes."""

    pci: PciFacts
    memory: int | None = None


class VfioBackend:
    """The PCI bus, listed anew at each read; `name` gives what a device number stands for, where that is known."""

    def __init__(self, bound: Callable[[], tuple[BoundFunction, ...]], name: Callable[[int], str | None]) -> None:
        self._bound = bound
        self._name = name

    @property
    def platform(self) -> Platform:
        """Vfio."""
        return Platform.VFIO

    def read(self, *, links: bool = False) -> Inventory:  # noqa: ARG002  Their links cannot be known.
        """Read the GPUs that vfio-pci holds, by address; the address stands for the UUID, which nobody can ask for."""
        found = sorted((function for function in self._bound() if is_gpu(function.pci)), key=_address)
        gpus = tuple(
            Gpu(
                index=index,
                uuid=function.pci.address,
                name=self._name(function.pci.device or 0) or UNKNOWN_NAME,
                pci_bus_id=function.pci.address,
                pci=function.pci,
                numa_node=function.pci.numa_node,
                memory=function.memory,
            )
            for index, function in enumerate(found)
        )
        return Inventory(platform=self.platform, gpus=gpus, mig_minors_known=False)

    def monitor(self) -> HealthMonitor | None:
        """Return None: the guest owns these GPUs."""
        return None

    def close(self) -> None:
        """Do nothing; nothing is held open."""


def _address(function: BoundFunction) -> tuple[int, str]:
    domain, _, rest = function.pci.address.partition(":")
    return int(domain, 16), rest


def is_gpu(facts: PciFacts) -> bool:
    """Whether a PCI function is an NVIDIA GPU: a display or 3D controller."""
    return facts.vendor == NVIDIA and facts.class_code in _GPU_CLASSES


def addressable_memory(resource: str) -> int | None:
    """Return the memory behind a function's 64-bit windows in bytes, rounded up to a power of two.

    `resource` is the text of its sysfs file: a line of start, end and flags for each window. None without windows.
    """
    total = 0
    for line in resource.splitlines()[:_WINDOWS]:
        words = line.split()
        try:
            start, end, flags = (int(word, 16) for word in words)
        except ValueError:
            continue
        if end > start and flags & _TYPE_MASK == _TYPE_64_BIT:
            total += end - start + 1
    return 1 << (total - 1).bit_length() if total else None
