"""A simulated node as values: everything that a driver, the kernel and the firmware would say of it."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass

from gpu_core.devices.model import Fabric, LinkLevel, MigAttributes, PciFacts, Platform
from gpu_core.devices.pci import kernel_address

_CAPABILITIES = 0x40
_VENDOR_SPECIFIC = 0x09
_MINORS_PER_GPU = 135
_MINORS_PER_INSTANCE = 9
_FIRST_MINOR = 3
_INSTANCES = 15
_COMPUTE_INSTANCES = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedProfile:
    """A GPU instance profile: NVML's `slot` and `id` for it, and what a device of this size has."""

    name: str
    slot: int
    id: int
    attributes: MigAttributes


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedMig:
    """One MIG device."""

    index: int
    uuid: str
    gpu_instance: int
    compute_instance: int
    profile: SimulatedProfile
    attributes: MigAttributes


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedGpu:
    """One GPU.

    `memory` is in bytes, None where the driver gives no figure. `mig_max` 0 stands for a GPU without MIG.
    `events` is the mask of NVML event types that it supports, `recovery` its answer to the recovery action field,
    None on drivers without it. `sysfs` False leaves the GPU without a folder in sysfs. `vgpu` is the driver version
    and branch that a vGPU's PCI configuration tells of its host.
    """

    uuid: str
    name: str
    minor: int
    bus_id: str
    pci_id: int = 0x10DE
    pci_class: int = 0x030200
    numa_node: int | None = None
    memory: int | None = None
    compute_capability: tuple[int, int] = (0, 0)
    brand: int = 0
    addressing_mode: int | None = None
    events: int = 0x1B
    recovery: int | None = None
    mig_max: int = 0
    mig_enabled: bool = False
    mig_devices: tuple[SimulatedMig, ...] = ()
    profiles: tuple[SimulatedProfile, ...] = ()
    fabric: Fabric | None = None
    sysfs: bool = True
    vgpu: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CudaDevice:
    """What libcuda says of the GPU of a Tegra chip. `memory` is in bytes."""

    name: str
    memory: int
    compute_capability: tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedNode:
    """A whole node.

    `levels[a][b]` is how close two GPUs are, `bridges[a][b]` how many NVLinks lead from one to the other, and
    `switch_links` how many lead from each GPU into a switch. `machine` is None where the firmware names no model.
    """

    name: str
    description: str = ""
    platform: Platform = Platform.NVML
    machine: str | None = None
    driver: str = "550.90.07"
    cuda: int = 12040
    gpus: tuple[SimulatedGpu, ...] = ()
    levels: tuple[tuple[LinkLevel, ...], ...] = ()
    bridges: tuple[tuple[int, ...], ...] = ()
    switch_links: int = 0
    mig_minors: bool = True
    imex_channels: tuple[int, ...] = ()
    cuda_device: CudaDevice | None = None

    def pci_functions(self) -> tuple[PciFacts, ...]:
        """Return the NVIDIA functions on the PCI bus, by address."""
        found = (pci_facts(gpu) for gpu in self.gpus)
        return tuple(sorted((facts for facts in found if facts is not None), key=lambda facts: facts.address))

    def minors(self) -> Mapping[str, int] | None:
        """Return what the driver's mig-minors file would list; None where a node has none."""
        if not self.mig_minors or not any(gpu.mig_max for gpu in self.gpus):
            return None
        minors = {}
        for gpu in self.gpus:
            for instance in range(_INSTANCES):
                first = _FIRST_MINOR + gpu.minor * _MINORS_PER_GPU + instance * _MINORS_PER_INSTANCE
                minors[f"gpu{gpu.minor}/gi{instance}/access"] = first
                for compute in range(_COMPUTE_INSTANCES):
                    minors[f"gpu{gpu.minor}/gi{instance}/ci{compute}/access"] = first + 1 + compute
        return minors


def pci_facts(gpu: SimulatedGpu) -> PciFacts | None:
    """Return a GPU's folder in sysfs; None where it has none."""
    address = kernel_address(gpu.bus_id)
    if address is None or not gpu.sysfs:
        return None
    return PciFacts(
        address=address,
        vendor=gpu.pci_id & 0xFFFF,
        device=gpu.pci_id >> 16,
        class_code=gpu.pci_class,
        numa_node=gpu.numa_node,
        config=_config_space(gpu),
    )


def _config_space(gpu: SimulatedGpu) -> bytes:
    """Return 256 bytes of configuration space, with the record of a vGPU's host where there is one."""
    space = bytearray(256)
    struct.pack_into("<HH", space, 0, gpu.pci_id & 0xFFFF, gpu.pci_id >> 16)
    space[0x06] = 0x10
    space[0x34] = _CAPABILITIES
    if gpu.vgpu is None:
        space[_CAPABILITIES] = 0x10
        return bytes(space)
    version, branch = (text.encode()[:10].ljust(10, b"\0") for text in gpu.vgpu)
    record = bytes([0x00, 2 + 10 + 10]) + version + branch
    head = bytes([_VENDOR_SPECIFIC, 0x00, 5 + len(record), 0x56, 0x46])
    space[_CAPABILITIES : _CAPABILITIES + len(head) + len(record)] = head + record
    return bytes(space)
