"""What labelers are given, and what they give back.

A labeler is a function from `Described` to `Labels`. It never raises for what a node is like: labels that cannot be
known are left out, and the reason becomes a warning or a failure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from gpu_core.config.model import Config
from gpu_core.devices.model import Fault, Gpu, Inventory, MigDevice, PciFacts
from gpu_core.labels.written import alike

PREFIX = "nvidia.com/"


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeFacts:
    """What labels say about the node besides its GPUs.

    `timestamp` is when the configuration was loaded, in seconds since 1970. `machine_type` is the model of the
    machine as its firmware names it, before any clean-up. `pci` holds the NVIDIA functions on the PCI bus, with
    their configuration space, whatever driver they are bound to; None when the bus cannot be read. `shows_gpu` is
    whether the machine itself, without the driver, shows a GPU; None where nobody asked.
    """

    timestamp: int
    machine_type: str = "unknown"
    pci: tuple[PciFacts, ...] | None = ()
    shows_gpu: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """The node as labels describe it: everything that they are made from."""

    inventory: Inventory
    facts: NodeFacts
    config: Config

    @property
    def gpus(self) -> tuple[Gpu, ...]:
        """The GPUs that labels describe: all whose name, compute capability and MIG mode could be read."""
        return tuple(gpu for gpu in self.inventory.gpus if describable(gpu))

    @property
    def alike_products(self) -> frozenset[str]:
        """The product names of this node that labels only tell apart by a checksum."""
        return alike(gpu.name for gpu in self.inventory.gpus if gpu.name is not None)

    @property
    def has_gpus(self) -> bool:
        """Whether any GPU is there, even one that cannot be described."""
        return bool(self.inventory.gpus or self.inventory.unreadable)


@dataclass(frozen=True, slots=True, kw_only=True)
class Labels:
    """Labels by full key. `notes` are good to know, `warnings` worth a look; `failures` end a one-shot run."""

    values: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()


Labeler = Callable[[Described], Labels]

# Without one of these facts a GPU has no honest labels; any other fact only costs the label it stands for.
_NEEDED_CALLS = frozenset(
    {
        "DeviceGetHandleByIndex",
        "DeviceGetName",
        "DeviceGetCudaComputeCapability",
        "DeviceGetMigMode",
        "DeviceGetMaxMigDeviceCount",
        "cuDeviceGet",
        "cuDeviceGetName",
        "cuDeviceGetAttribute",
    }
)


def needed_faults(gpu: Gpu) -> tuple[Fault, ...]:
    """Return the faults that keep this GPU from being described."""
    return tuple(fault for fault in gpu.faults if fault.call in _NEEDED_CALLS)


def describable(gpu: Gpu) -> bool:
    """Whether labels can speak about this GPU."""
    return gpu.name is not None and not needed_faults(gpu)


def mig_devices(gpus: Iterable[Gpu]) -> tuple[MigDevice, ...]:
    """Return the MIG devices of these GPUs that could be read."""
    return tuple(mig for gpu in gpus for mig in gpu.mig_devices if not mig.faults)
