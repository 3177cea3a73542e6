"""Builds the specifications of a node from its inventory and what was found of its driver."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from posixpath import dirname, join, normpath

from gpu_core.cdi import edits
from gpu_core.cdi.driver_files import CharDevice, DriverFiles
from gpu_core.cdi.hooks import HookName, Hooks
from gpu_core.cdi.model import SOCKET, VOID, ContainerEdits, DeviceNode, Spec, SpecDevice
from gpu_core.cdi.names import CdiClass, kind
from gpu_core.cdi.search_paths import CONTROL_DEVICES
from gpu_core.config.words import DeviceIDStrategy
from gpu_core.devices.device_nodes import ImexChannel
from gpu_core.devices.model import Gpu, Inventory, MigDevice

COHERENT_ANNOTATIONS = "enable-coherent-annotations"
NO_ADDITIONAL_GIDS = "no-additional-gids-for-device-nodes"
EXPLICIT_LIBRARIES = "enable-explicit-driver-libraries"
NO_SOCKETS = "disable-ipc-discoverer"

_COHERENT = "gpu.nvidia.com/coherent"
_ALL = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecOptions:
    """What shapes a specification.

    `extra_names` names every device by UUID and index, and all of them together as `all`. `mig_parents` gives
    MIG-enabled GPUs a name of their own, which they need when they are advertised whole.
    """

    hooks: Hooks
    id_strategy: DeviceIDStrategy = DeviceIDStrategy.UUID
    features: frozenset[str] = frozenset()
    extra_names: bool = False
    mig_parents: bool = False

    @property
    def group_access(self) -> bool:
        """Whether containers join the groups that own restricted device nodes."""
        return NO_ADDITIONAL_GIDS not in self.features


def gpu_spec(inventory: Inventory, files: DriverFiles, options: SpecOptions) -> Spec | None:
    """Return the specification of the node's GPUs and MIG devices; None without any.

    A device none of whose nodes exist is left out: runtimes refuse a whole file for one device that does nothing.
    """
    devices = tuple(device for device in _gpu_devices(inventory, files, options) if not device.edits.empty)
    if not devices:
        return None
    if options.extra_names:
        everything = sum((device.edits for device in devices), ContainerEdits())
        devices = (*devices, SpecDevice(name=_ALL, edits=everything))
    return edits.tidy(Spec(kind=kind(CdiClass.GPU), devices=devices, edits=_common(files, options)))


def imex_spec(channels: Iterable[ImexChannel]) -> Spec | None:
    """Return the specification of IMEX channels; None without any."""
    devices = tuple(
        SpecDevice(
            name=str(channel.number),
            edits=ContainerEdits(device_nodes=(DeviceNode(path=channel.path, host_path=channel.seen),)),
        )
        for channel in channels
    )
    return edits.tidy(Spec(kind=kind(CdiClass.IMEX_CHANNEL), devices=devices)) if devices else None


def extra_spec(cdi_class: CdiClass, files: DriverFiles, options: SpecOptions) -> Spec | None:
    """Return the specification of GDRCopy, GPUDirect Storage or Mellanox OFED; None where the node has none."""
    prefixes = {
        CdiClass.GDRCOPY: ("/dev/gdrdrv",),
        CdiClass.GDS: ("/dev/nvidia-fs",),
        CdiClass.MOFED: ("/dev/infiniband/uverbs", "/dev/infiniband/rdma_cm"),
    }[cdi_class]
    nodes = [device for prefix in prefixes for device in files.devices if device.path.startswith(prefix)]
    if not nodes:
        return None
    made = edits.device_nodes(nodes, group_access=options.group_access)
    if cdi_class is CdiClass.GDS:
        made += edits.mounts(files.storage_files)
    return edits.tidy(
        Spec(kind=kind(cdi_class), devices=(SpecDevice(name=_ALL, edits=made),), edits=ContainerEdits(env=(VOID,)))
    )


def _gpu_devices(inventory: Inventory, files: DriverFiles, options: SpecOptions) -> Iterator[SpecDevice]:
    for gpu in inventory.gpus:
        if gpu.minor is None:
            continue
        if not gpu.mig_enabled or options.mig_parents:
            annotations = _annotations(gpu, options)
            for name in _names(gpu.uuid, str(gpu.index), options):
                yield SpecDevice(name=name, edits=_gpu_edits(gpu, files, options), annotations=annotations)
        for mig in gpu.mig_devices:
            if mig.capability_minors is None:
                continue
            for name in _names(mig.uuid, f"{gpu.index}:{mig.index}", options):
                yield SpecDevice(name=name, edits=_mig_edits(gpu, mig, mig.capability_minors, files, options))


def _names(uuid: str, index: str, options: SpecOptions) -> tuple[str, ...]:
    if options.extra_names:
        return (uuid, index)
    return (uuid,) if options.id_strategy is DeviceIDStrategy.UUID else (index,)


def _annotations(gpu: Gpu, options: SpecOptions) -> tuple[tuple[str, str], ...]:
    if COHERENT_ANNOTATIONS not in options.features:
        return ()
    return ((_COHERENT, "true" if gpu.coherent_memory else "false"),)


def _gpu_edits(gpu: Gpu, files: DriverFiles, options: SpecOptions) -> ContainerEdits:
    return _node_edits([f"/dev/nvidia{gpu.minor}", *_drm_paths(gpu, files)], gpu, files, options)


def _mig_edits(
    gpu: Gpu, mig: MigDevice, minors: tuple[int, int], files: DriverFiles, options: SpecOptions
) -> ContainerEdits:
    capabilities = [f"/dev/nvidia-caps/nvidia-cap{minor}" for minor in minors]
    # Only profiles with graphics may draw, so only they need the GPU's DRM nodes.
    drm = _drm_paths(gpu, files) if "gfx" in mig.profile.partition("+")[2].split(".") else []
    return _node_edits([f"/dev/nvidia{gpu.minor}", *capabilities, *drm], gpu, files, options)


def _node_edits(paths: list[str], gpu: Gpu, files: DriverFiles, options: SpecOptions) -> ContainerEdits:
    nodes = [device for device in map(files.device, paths) if device is not None]
    folders = [folder for folder in map(dirname, paths) if folder in ("/dev/dri", "/dev/nvidia-caps")]
    hooks = options.hooks.symlinks(_by_path_links(gpu, nodes, files)) + options.hooks.folder_permissions(folders)
    return edits.device_nodes(nodes, group_access=options.group_access) + ContainerEdits(hooks=hooks)


def _drm_paths(gpu: Gpu, files: DriverFiles) -> list[str]:
    address = gpu.pci.address if gpu.pci is not None else None
    return [f"/dev/dri/{name}" for found, names in files.drm_nodes if found == address for name in names]


def _by_path_links(gpu: Gpu, nodes: Iterable[CharDevice], files: DriverFiles) -> list[str]:
    """Return the links by PCI address that lead to nodes of this GPU."""
    if gpu.pci is None:
        return []
    seen = {node.seen for node in nodes}
    names = {f"pci-{gpu.pci.address}-{suffix}" for suffix in ("card", "render")}
    return [
        f"{link.target}::{link.seen}"
        for link in files.device_links
        if link.seen.rpartition("/")[2] in names and normpath(join(dirname(link.seen), link.target)) in seen
    ]


def _common(files: DriverFiles, options: SpecOptions) -> ContainerEdits:
    """Return what every GPU of the node brings into a container, whichever GPU it is."""
    control = [device for device in map(files.device, CONTROL_DEVICES) if device is not None]
    allocator = f"libnvidia-allocator.so.{files.version}"
    graphics = [file for file in files.graphics_libraries if not file.path.endswith(f"/{allocator}")]
    hooks = (
        *options.hooks.symlinks(edits.graphics_links(files.graphics_libraries, files.version)),
        *options.hooks.symlinks(edits.library_links(files.libraries)),
        *options.hooks.cuda_compat(driver_version=files.version),
        *options.hooks.ldcache(edits.library_folders(files.libraries)),
        *options.hooks.plain(HookName.DISABLE_DEVICE_NODE_MODIFICATION),
        *options.hooks.plain(HookName.UPDATE_APPLICATION_PROFILE),
    )
    return (
        edits.device_nodes(control, group_access=options.group_access)
        + edits.mounts([*graphics, *files.configs, *files.libraries, *files.firmware, *files.binaries])
        + edits.mounts(files.sockets, SOCKET)
        + ContainerEdits(env=(f"NVIDIA_CTK_LIBCUDA_DIR={':'.join(files.library_directories)}", VOID), hooks=hooks)
    )
