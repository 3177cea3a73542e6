"""Container edits from found files: the pieces that every specification is put together from."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from posixpath import basename, dirname, join, splitext

from gpu_core.cdi.driver_files import CharDevice, File, Library
from gpu_core.cdi.model import READ_ONLY, ContainerEdits, DeviceNode, Mount, Spec, SpecDevice

_VERSIONED = "*.*.*"
_WORLD_READ_WRITE = 0o006


def mounts(files: Iterable[File], options: tuple[str, ...] = READ_ONLY) -> ContainerEdits:
    """Mount each file where a container expects it."""
    return ContainerEdits(
        mounts=tuple(Mount(host_path=file.seen, container_path=file.path, options=options) for file in files)
    )


def device_nodes(devices: Iterable[CharDevice], *, group_access: bool = True) -> ContainerEdits:
    """Create each device node, and join the groups that may use those which not everybody may."""
    devices = tuple(devices)
    groups = (device.gid for device in devices if device.gid and device.mode & _WORLD_READ_WRITE != _WORLD_READ_WRITE)
    return ContainerEdits(
        device_nodes=tuple(_node(device) for device in devices),
        additional_gids=tuple(sorted(set(groups))) if group_access else (),
    )


def library_links(libraries: Iterable[Library]) -> tuple[str, ...]:
    """Return the links that programs load these libraries through, as `target::path`, each once."""
    return tuple(dict.fromkeys(link for library in libraries for link in (*_fixed_links(library), *_so_links(library))))


def library_folders(files: Iterable[File]) -> tuple[str, ...]:
    """Return the folders that the loader has to search, each once."""
    return tuple(dict.fromkeys(dirname(file.path) for file in files if _is_library(basename(file.path))))


def graphics_links(files: Iterable[File], version: str) -> tuple[str, ...]:
    """Return the links that graphics stacks load the driver through."""
    links = []
    for file in files:
        folder, name = dirname(file.path), basename(file.path)
        if name == f"libnvidia-allocator.so.{version}":
            links.append(f"../libnvidia-allocator.so.1::{join(folder, 'gbm', 'nvidia-drm_gbm.so')}")
        plain = name.removesuffix(f".{version}")
        if plain != name and plain in ("libnvidia-vulkan-producer.so", "libglxserver_nvidia.so"):
            links.append(f"{name}::{join(folder, plain)}")
    return tuple(links)


def tidy(spec: Spec) -> Spec:
    """Return the specification without repetitions, in an order that does not depend on the search."""
    edits = _sorted(spec.edits)
    devices = [SpecDevice(name=d.name, edits=_sorted(d.edits), annotations=d.annotations) for d in spec.devices]
    return Spec(kind=spec.kind, devices=tuple(sorted(devices, key=lambda device: device.name)), edits=edits)


def _sorted(edits: ContainerEdits) -> ContainerEdits:
    """Parents come before what lies below them; hooks keep their order, which has a meaning."""
    return ContainerEdits(
        env=tuple(dict.fromkeys(edits.env)),
        device_nodes=tuple(sorted(dict.fromkeys(edits.device_nodes), key=lambda node: _by_depth(node.path))),
        hooks=tuple(dict.fromkeys(edits.hooks)),
        mounts=tuple(sorted(dict.fromkeys(edits.mounts), key=lambda mount: _by_depth(mount.container_path))),
        additional_gids=tuple(sorted(set(edits.additional_gids))),
    )


def _by_depth(path: str) -> tuple[int, str]:
    return path.count("/"), path


def _node(device: CharDevice) -> DeviceNode:
    return DeviceNode(
        path=device.path,
        host_path=None if device.seen == device.path else device.seen,
        major=device.major,
        minor=device.minor,
        file_mode=device.mode or None,
        gid=device.gid or None,
        permissions="rwm",
    )


def _fixed_links(library: Library) -> tuple[str, ...]:
    """Return links that the driver's own package does not always bring, but that programs open."""
    folder, name = dirname(library.path), basename(library.path)
    if fnmatchcase(name, "libcuda.so.*.*"):
        return (f"libcuda.so.1::{join(folder, 'libcuda.so')}",)
    if fnmatchcase(name, "libGLX_nvidia.so.*.*"):
        return (f"{name}::{join(folder, 'libGLX_indirect.so.0')}",)
    if fnmatchcase(name, "libnvidia-opticalflow.so.*.*"):
        return (f"libnvidia-opticalflow.so.1::{join(folder, 'libnvidia-opticalflow.so')}",)
    return ()


def _so_links(library: Library) -> tuple[str, ...]:
    """Return the SONAME's and the linker's links, where the host has them."""
    folder, name = dirname(library.path), basename(library.path)
    if library.soname is None or not fnmatchcase(name, _VERSIONED):
        return ()
    links = []
    if library.soname != name and library.soname in library.links:
        links.append(f"{name}::{join(folder, library.soname)}")
    plain = _without_version(library.soname)
    if plain != library.soname and plain in library.links:
        links.append(f"{library.soname}::{join(folder, plain)}")
    return tuple(links)


def _without_version(name: str) -> str:
    """Return `libx.so` for `libx.so.1.2`, and an empty text where there is no `.so`."""
    stem, extension = splitext(name)
    while extension not in (".so", ""):
        stem, extension = splitext(stem)
    return f"{stem}{extension}" if extension else ""


def _is_library(name: str) -> bool:
    if not fnmatchcase(name, "lib?*.so*"):
        return False
    version = name.rpartition(".so")[2]
    return not version or version.startswith(".")
