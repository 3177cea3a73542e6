"""The effective configuration that all four programs share: every key, its default and its meaning, once.

A `Config` is complete: file, environment and flags have been layered and checked before it is made. Resource
names are full (`nvidia.com/gpu`). What only one program's command line knows (the kubelet's socket, say) is
not here but in `gpu_core.config.programs.options`.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpu_core.config.duration import Duration
from gpu_core.config.health import Health
from gpu_core.config.keys import Constraint, key
from gpu_core.config.sharing import Sharing
from gpu_core.config.words import (
    AllocationPolicy,
    DeviceDiscoveryStrategy,
    DeviceIDStrategy,
    DeviceListStrategy,
    ExtraLabels,
    MigStrategy,
)

DEFAULT_RESOURCE = "nvidia.com/gpu"


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginFlags:
    """`flags.plugin`: how the device plugin answers the kubelet."""

    pass_device_specs: bool = key("passDeviceSpecs", "Hand device nodes to the container as well.", default=False)
    device_list_strategy: tuple[DeviceListStrategy, ...] = key(
        "deviceListStrategy",
        "How a container is told which devices are its own; one word or a list.",
        default=(DeviceListStrategy.ENVVAR,),
    )
    device_id_strategy: DeviceIDStrategy = key(
        "deviceIDStrategy", "Name devices to the container by UUID or by index.", default=DeviceIDStrategy.UUID
    )
    cdi_annotation_prefix: str = key(
        "cdiAnnotationPrefix", "Prefix of the CDI annotation's key.", default="cdi.k8s.io/"
    )
    nvidia_ctk_path: str = key(
        "nvidiaCTKPath", "Path on the host of the tool that CDI hooks run.", default="/usr/bin/nvidia-ctk"
    )
    container_driver_root: str = key(
        "containerDriverRoot", "Where the driver root is mounted in our own container.", default="/driver-root"
    )
    shared_devices_allocation_policy: AllocationPolicy = key(
        "sharedDevicesAllocationPolicy",
        "Which replicas are preferred when several GPUs have some free.",
        default=AllocationPolicy.DISTRIBUTED,
    )
    cdi_extra_names: bool = key(
        "cdiExtraNames", "Name each device by index and UUID, and all of them as `all`.", default=False, ours=True
    )
    rescan_interval: Duration = key(
        "rescanInterval",
        "How often the node is searched for added, removed and re-partitioned GPUs; 0s is never, 100ms the least.",
        default=Duration.of(seconds=60),
        ours=True,
        constraint=Constraint.NOT_NEGATIVE,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class GfdFlags:
    """`flags.gfd`: how gpu-feature-discovery runs."""

    oneshot: bool = key("oneshot", "Publish the labels once and end.", default=False)
    no_timestamp: bool = key("noTimestamp", "Leave the timestamp label away.", default=False)
    sleep_interval: Duration = key(
        "sleepInterval",
        "Pause between two passes, 100ms the least; `infinite` labels once and waits.",
        default=Duration.of(seconds=60),
    )
    output_file: str = key(
        "outputFile",
        "File for the labels; empty for standard output.",
        default="/etc/kubernetes/node-feature-discovery/features.d/gfd",
    )
    machine_type_file: str = key(
        "machineTypeFile",
        "File that names the machine's model.",
        default="/sys/class/dmi/id/product_name",
    )
    extra_labels: ExtraLabels = key(
        "extraLabels",
        "Which labels are published that the original does not have: auto, all or none.",
        default=ExtraLabels.AUTO,
        ours=True,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Flags:
    """`flags`: what can also be given as a flag or an environment variable."""

    mig_strategy: MigStrategy = key("migStrategy", "How MIG devices are advertised.", default=MigStrategy.NONE)
    fail_on_init_error: bool = key(
        "failOnInitError", "End when the GPUs cannot be read at start, instead of waiting for them.", default=True
    )
    mps_root: str = key("mpsRoot", "Directory on the host that MPS daemons and clients share.", default="")
    nvidia_driver_root: str = key("nvidiaDriverRoot", "Root of the driver's files on the host.", default="/")
    nvidia_dev_root: str | None = key(
        "nvidiaDevRoot", "Root of the device nodes on the host; the driver root when empty or not given.", default=None
    )
    driver_library_path: str = key(
        "driverLibraryPath",
        "Directories inside the driver root that hold the driver's libraries, joined by colons; searched before the "
        "usual ones.",
        default="",
        ours=True,
    )
    gdrcopy_enabled: bool = key("gdrcopyEnabled", "Give containers GDRCopy.", default=False)
    gds_enabled: bool = key("gdsEnabled", "Give containers GPUDirect Storage.", default=False)
    mofed_enabled: bool = key("mofedEnabled", "Give containers Mellanox OFED devices.", default=False)
    use_node_feature_api: bool = key("useNodeFeatureAPI", "Publish labels as a NodeFeature object.", default=True)
    device_discovery_strategy: DeviceDiscoveryStrategy = key(
        "deviceDiscoveryStrategy",
        "Where GPUs are looked for; `vfio` is for labels only.",
        default=DeviceDiscoveryStrategy.AUTO,
    )
    custom_resources: bool = key(
        "customResources",
        "Honour `resources`, and `rename` and `devices` under `sharing`, instead of ignoring them as the original.",
        default=False,
        ours=True,
    )
    plugin: PluginFlags = key("plugin", "Flags of the device plugin.", default_factory=PluginFlags)
    gfd: GfdFlags = key("gfd", "Flags of gpu-feature-discovery.", default_factory=GfdFlags)

    @property
    def dev_root(self) -> str:
        """The root of the device nodes on the host."""
        return self.nvidia_dev_root or self.nvidia_driver_root

    @property
    def driver_library_directories(self) -> tuple[str, ...]:
        """The directories inside the driver root that the user names, as absolute paths of that root."""
        named = (text.strip("/") for text in self.driver_library_path.split(":") if text)
        return tuple(dict.fromkeys(f"/{directory}" for directory in named))


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourcePattern:
    """One entry of `resources.gpus` or `resources.mig`; the first match wins."""

    pattern: str = key("pattern", "Product name or MIG profile to match whole; `*` stands for any text.")
    name: str = key("name", "Resource that matching devices belong to.", constraint=Constraint.RESOURCE_NAME)
    allocation_policy: AllocationPolicy | None = key(
        "allocationPolicy", "Policy of this resource, where it differs.", default=None, ours=True
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """`resources`: under which names devices are advertised.

    Empty tuples mean the defaults: all GPUs as `nvidia.com/gpu`, MIG devices as the MIG strategy says.
    """

    gpus: tuple[ResourcePattern, ...] = key("gpus", "Whole GPUs, by product name.", default=(), exact=True)
    mig: tuple[ResourcePattern, ...] = key("mig", "MIG devices, by profile.", default=(), exact=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Imex:
    """`imex`: IMEX channels injected into every container."""

    channel_ids: tuple[int, ...] = key("channelIDs", "Channels; only [] and [0] are valid.", default=())
    required: bool = key("required", "End when a channel's device node is missing.", default=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceFilter:
    """`devices`: which of the node's GPUs are managed at all, the same for every program.

    An entry is a GPU UUID, an NVML index, a PCI address or a pattern of the whole product name.
    """

    include: tuple[str, ...] = key(
        "include",
        "Manage only these: UUIDs, indices, PCI addresses, or products with `*` for any text, in capitals or not; "
        "empty for all.",
        default=(),
        ours=True,
    )
    exclude: tuple[str, ...] = key("exclude", "Never manage these, even when included.", default=(), ours=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """The whole configuration."""

    version: str = key(
        "version", "Version of this format; only v1 exists.", default="v1", constraint=Constraint.VERSION
    )
    flags: Flags = key("flags", "What can also be given as a flag or an environment variable.", default_factory=Flags)
    resources: Resources = key("resources", "Names under which devices are advertised.", default_factory=Resources)
    sharing: Sharing = key("sharing", "GPUs shared between containers.", default_factory=Sharing)
    imex: Imex = key("imex", "IMEX channels given to every container.", default_factory=Imex)
    devices: DeviceFilter = key("devices", "Which GPUs are managed.", default_factory=DeviceFilter, ours=True)
    health: Health = key("health", "What makes devices unhealthy and healthy again.", default_factory=Health, ours=True)
