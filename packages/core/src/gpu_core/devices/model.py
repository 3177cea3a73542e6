"""What one node's GPUs are: plain frozen values, read once and shared by every program.

Nothing here holds a handle, a ctypes object or a protobuf message. Memory is in bytes for GPUs and in MiB for
MIG devices, as NVML gives them. A fact that the hardware does not offer is `None`; a fact that should be there
but could not be read leaves a `Fault` on its GPU, and the neighbours are unaffected.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, StrEnum


class Platform(StrEnum):
    """Through which interface the GPUs of a node are reached."""

    NVML = "nvml"
    WSL = "wsl"
    TEGRA = "tegra"
    VFIO = "vfio"


WITHOUT_HEALTH_CHECKS = frozenset({Platform.WSL, Platform.TEGRA})
"""Where the driver reports no events of GPUs, and what is served is one device that stands for all of them."""


class LinkLevel(IntEnum):
    """How far apart two GPUs sit on the PCIe tree; NVML's nvmlGpuTopologyLevel_t, smaller is closer."""

    INTERNAL = 0
    SINGLE = 10
    MULTIPLE = 20
    HOSTBRIDGE = 30
    NODE = 40
    SYSTEM = 50


NO_ANSWER = "NO_ANSWER"
"""The code of a call that did not return in time; no driver's own."""

_LOST_CODES = frozenset({"GPU_IS_LOST", "NOT_FOUND", NO_ANSWER})


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A driver call that failed for one GPU.

    `call` is the C function without `nvml` and version suffix (`DeviceGetName`), `code` the return value
    without its `NVML_ERROR_` prefix (`GPU_IS_LOST`), or NO_ANSWER. Calls of libcuda keep their whole name (`cuInit`).
    """

    call: str
    code: str

    def __str__(self) -> str:
        if not self.call:
            return "the driver did not answer in time"
        function = self.call if self.call.startswith("cu") else f"nvml{self.call}"
        if self.code == NO_ANSWER:
            return f"{function} did not return in time"
        return f"{function} failed with {self.code}"

    @property
    def loses_gpu(self) -> bool:
        """Whether the GPU may have left the driver, and with it all that was asked of it for later, as its events."""
        return self.code in _LOST_CODES or self.call.startswith("DeviceGetHandle")


@dataclass(frozen=True, slots=True, kw_only=True)
class PciFacts:
    """What sysfs knows of a PCI function.

    `address` is the kernel's form, lower case with a domain of at least four digits (`0000:07:00.0`);
    `class_code` the 24-bit class (0x030000 VGA, 0x030200 3D); `config` the raw configuration space, 64 bytes
    without privilege and at most 4096 with it, empty when it cannot be read.
    """

    address: str
    vendor: int | None = None
    device: int | None = None
    class_code: int | None = None
    numa_node: int | None = None
    config: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class MigAttributes:
    """NVML's nvmlDeviceAttributes_t of a MIG device. Memory is in MiB."""

    memory_mib: int
    multiprocessors: int
    gpu_instance_slices: int
    compute_instance_slices: int
    copy_engines: int = 0
    decoders: int = 0
    encoders: int = 0
    jpeg_engines: int = 0
    ofa_engines: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class MigDevice:
    """One MIG device (a compute instance within a GPU instance).

    `profile` is its name as NVIDIA writes it (`1g.5gb`, `1g.5gb+me`, `1c.3g.20gb`), `instance_profile` the
    name of the GPU instance's profile (`3g.20gb`; the same for whole instances). `capability_minors` are the
    minors of the GPU and compute instance's access nodes under /dev/nvidia-caps, None where the driver's
    mig-minors file does not name them.
    """

    index: int
    uuid: str
    parent_uuid: str
    parent_index: int
    gpu_instance: int
    compute_instance: int
    profile: str
    instance_profile: str
    attributes: MigAttributes
    capability_minors: tuple[int, int] | None = None
    faults: tuple[Fault, ...] = ()

    @property
    def full_index(self) -> str:
        """Its index as nvidia-smi and containers know it, behind that of its GPU: `0:1`."""
        return f"{self.parent_index}:{self.index}"


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadableMig:
    """A MIG device, by index, that cannot be named, or of which cannot be said whether it is there."""

    index: int
    fault: Fault


_FABRIC_NOT_SUPPORTED = 0
_PROBE_COMPLETED = 3
_SUCCESS = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Fabric:
    """NVLink fabric membership, from nvmlDeviceGetGpuFabricInfo. `state` 3 means the probe completed."""

    state: int
    status: int
    clique: int
    cluster_uuid: str

    @property
    def joined(self) -> bool:
        """Whether the GPU has become a member, so that clique and cluster say something."""
        return self.state == _PROBE_COMPLETED and self.status == _SUCCESS

    @property
    def pending(self) -> bool:
        """Whether there is a fabric that the GPU has still to join: its probe has not begun or not ended."""
        return self.state not in (_FABRIC_NOT_SUPPORTED, _PROBE_COMPLETED)

    @property
    def refused(self) -> bool:
        """Whether the GPU's probe ended with an error, which `status` tells."""
        return self.state == _PROBE_COMPLETED and self.status != _SUCCESS


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """One physical GPU whose identity could be read.

    `index` is NVML's and keeps its gaps; `minor` the number of /dev/nvidia<minor>; `memory` total bytes;
    `compute_capability` (major, minor). `mig_enabled` is the current mode, `mig_max` how many MIG devices the
    GPU can hold (0: not MIG capable). `pci` is None where the bus address or its sysfs folder is missing.
    `coherent_memory` tells that NVML's addressing mode is ATS (the memory is the host's too).
    A non-empty `faults` means that an essential fact could not be read: the GPU is known but not usable.
    `unreadable_mig` are places for MIG devices of which cannot be said what is there. `gaps` are failures to read facts
    that only labels tell.
    """

    index: int
    uuid: str
    name: str | None
    minor: int | None = None
    pci_bus_id: str | None = None
    pci: PciFacts | None = None
    numa_node: int | None = None
    memory: int | None = None
    compute_capability: tuple[int, int] | None = None
    brand: int | None = None
    mig_capable: bool = False
    mig_enabled: bool = False
    mig_max: int = 0
    mig_devices: tuple[MigDevice, ...] = ()
    unreadable_mig: tuple[UnreadableMig, ...] = ()
    fabric: Fabric | None = None
    coherent_memory: bool = False
    faults: tuple[Fault, ...] = ()
    gaps: tuple[Fault, ...] = ()

    @property
    def units(self) -> tuple[str, ...]:
        """Its UUID and those of its MIG devices."""
        return (self.uuid, *(mig.uuid for mig in self.mig_devices))

    @property
    def usable(self) -> bool:
        """Whether every essential fact could be read."""
        return not self.faults

    @property
    def complete(self) -> bool:
        """Whether it and every MIG device of it have answered in full."""
        return self.usable and not self.unreadable_mig and not any(mig.faults for mig in self.mig_devices)

    @property
    def lost(self) -> bool:
        """Whether it may have left the driver; reading the node anew tells when it is back."""
        return any(fault.loses_gpu for fault in self.faults)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadableGpu:
    """A GPU that NVML counts but that never answered in full, so that nobody can say what it is to be served as.

    `uuid` is empty where not even that could be read.
    """

    index: int
    fault: Fault
    uuid: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairLink:
    """What connects one GPU to another.

    `level` is the closest PCIe ancestor (None: unknown), `nvlinks` counts the NVLinks from one straight to the other,
    `switched` those by which both are joined through NVSwitches. The advice to the kubelet goes by the first two only,
    as in the original.
    """

    level: LinkLevel | None = None
    nvlinks: int = 0
    switched: int = 0

    @property
    def joined_by(self) -> int:
        """How many NVLinks join the two, in whichever way."""
        return self.nvlinks + self.switched


@dataclass(frozen=True, slots=True, kw_only=True)
class CudaCompat:
    """What a Tegra system's NVML tells containers that bring a newer CUDA: the driver's CUDA version, and the chip."""

    version: tuple[int, int]
    orin: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Inventory:
    """Every GPU of a node at one moment, sorted by index.

    `driver_version` as NVML writes it (`550.90.07`), `cuda_version` (major, minor). `links[a][b]` describes the
    way from the a-th to the b-th GPU of `gpus` (by position, not by index; the diagonal is an empty
    `PairLink`) and is empty when the links were not asked for or cannot be known; a pair touching a lost GPU
    has level None. `faults` are failed system-wide calls.
    `mig_minors_known` is False when the driver's mig-minors file is missing. `cuda_compat` is a Tegra system's.
    """

    platform: Platform
    gpus: tuple[Gpu, ...] = ()
    unreadable: tuple[UnreadableGpu, ...] = ()
    driver_version: str | None = None
    cuda_version: tuple[int, int] | None = None
    links: tuple[tuple[PairLink, ...], ...] = ()
    mig_minors_known: bool = True
    cuda_compat: CudaCompat | None = None
    faults: tuple[Fault, ...] = ()
