"""Finds an installed NVIDIA driver below its root."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from posixpath import basename, dirname, join

from gpu_core.cdi import elf
from gpu_core.cdi.driver_files import CharDevice, DeviceLink, DriverFiles, File, Library
from gpu_core.cdi.search import Root
from gpu_core.cdi.search_paths import (
    BINARIES,
    BINARY_DIRECTORIES,
    CONFIG_DIRECTORIES,
    CONFIGS,
    DEVICE_PATTERNS,
    EXPLICIT_LIBRARIES,
    LEGACY_LIBRARIES,
    SOCKET_DIRECTORIES,
    SOCKETS,
    VULKAN_CONFIGS,
    firmware_directories,
    graphics_libraries,
    xorg_directories,
    xorg_libraries,
)
from gpu_core.devices.library_search import FLAG, LibrarySearch
from gpu_core.errors import CdiError
from gpu_core.files import open_regular, read_regular

_LONGEST_PATH = 4096
"""Bytes of a path in a file of the kernel at the most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverSearch:
    """Where to look, and for what.

    `root` and `dev_root` are as our process sees them, `library_path` holds the directories in the root that the user
    names, `version` is the driver's from NVML (None: whichever is found). `machine` and `release` are the kernel's
    (`uname -m`, `uname -r`), `sys_root` the root of /sys.
    """

    root: str
    dev_root: str
    version: str | None
    machine: str
    release: str
    sys_root: str = "/"
    library_path: tuple[str, ...] = ()
    explicit_libraries: bool = False
    sockets: bool = True


def find_driver(search: DriverSearch) -> DriverFiles:
    """Return everything that was found; raise CdiError when there is no driver of that version."""
    root = Root(search.root)
    if not root.is_directory("/"):
        raise CdiError(
            f"The driver root {search.root} does not exist, so no CDI specification can be made. Mount the driver's "
            "root there, or set --driver-root-ctr-path to where it is mounted."
        )
    libraries = LibrarySearch(root=search.root, named=search.library_path)
    version, directories = _version_and_directories(libraries, search.version)
    configs = [path for pattern in CONFIGS for path in root.files(CONFIG_DIRECTORIES, pattern)]
    firmware = firmware_directories(search.release, _firmware_class_path(search.sys_root))
    dev = Root(search.dev_root)
    return DriverFiles(
        root=search.root,
        dev_root=search.dev_root,
        version=version,
        library_directories=directories,
        libraries=_libraries(root, directories, version, explicit=search.explicit_libraries),
        graphics_libraries=_graphics_libraries(root, libraries, directories, version),
        configs=(*_unique(root, configs), *_vulkan_configs(root, search.machine)),
        sockets=_sockets(root) if search.sockets else (),
        firmware=_unique(root, root.files(firmware, f"nvidia/{version}/gsp*.bin")),
        binaries=_binaries(root),
        devices=_devices(dev),
        device_links=_device_links(dev),
        drm_nodes=_drm_nodes(search.sys_root),
    )


def find_extras(driver_root: str, dev_root: str) -> DriverFiles:
    """Return only what GDRCopy, GPUDirect Storage and Mellanox OFED need, which stands apart from the driver."""
    return DriverFiles(
        root=driver_root,
        dev_root=dev_root,
        version="",
        devices=_devices(Root(dev_root)),
        storage_files=_storage_files(Root(driver_root)),
    )


def char_device(root: str, path: str) -> CharDevice | None:
    """Return one character device below a root, if it is there."""
    return next(iter(Root(root).devices(path)), None)


def _version_and_directories(libraries: LibrarySearch, wanted: str | None) -> tuple[str, tuple[str, ...]]:
    suffix = wanted or "*.*"
    for name in ("libcuda.so.", "libnvidia-ml.so."):
        found = libraries.first(name + suffix)
        if found:
            version = basename(found[0]).removeprefix(name)
            versioned = libraries.first(f"lib*.so.{version}")
            return version, tuple(dict.fromkeys(dirname(path) for path in versioned))
    looked_for = f"libcuda.so.{suffix} and libnvidia-ml.so.{suffix}"
    raise CdiError(
        f"No driver libraries were found: looked for {looked_for} in {libraries.searched()}. Check that the driver "
        f"root is mounted whole and holds the driver that is loaded, or name its directories with {FLAG}."
    )


def _libraries(root: Root, directories: tuple[str, ...], version: str, *, explicit: bool) -> tuple[Library, ...]:
    with_vdpau = [*directories, *(join(directory, "vdpau") for directory in directories)]
    paths = [*root.real_files(with_vdpau, f"*.so.{version}")]
    for pattern in (*LEGACY_LIBRARIES, *(EXPLICIT_LIBRARIES if explicit else ())):
        paths += root.real_files(directories, pattern)
    return tuple(library(root, path) for path in dict.fromkeys(paths))


def library(root: Root, path: str) -> Library:
    """Return a library with what programs may look for it under."""
    # Only links of this library are kept: the value would otherwise hold every link of the folder, once each.
    stem = basename(path).split(".so")[0] + ".so"
    beside = Path(root.seen(path)).parent.glob(f"{stem}*")
    return Library(
        seen=root.seen(path),
        path=path,
        soname=_soname(Path(root.seen(path))),
        links=frozenset(found.name for found in beside if found.is_symlink()),
    )


def _soname(path: Path) -> str | None:
    """Return a library's SONAME; the map reads only the pages that hold it, of files as large as a gigabyte."""
    try:
        with os.fdopen(open_regular(path), "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as pages:
            view = memoryview(pages)
            try:
                return elf.soname(view)
            finally:
                view.release()
    except (OSError, ValueError):
        return None


def _graphics_libraries(
    root: Root, libraries: LibrarySearch, directories: tuple[str, ...], version: str
) -> tuple[File, ...]:
    paths = [path for pattern in graphics_libraries(version) for path in libraries.first(pattern)]
    xorg = xorg_directories(directories)
    paths += [path for name in xorg_libraries(version) for path in _first(root.files(xorg, name))]
    return _unique(root, paths)


def _vulkan_configs(root: Root, machine: str) -> tuple[File, ...]:
    """Return the Vulkan configs, which containers have under /etc wherever the host keeps them."""
    found: dict[str, File] = {}
    for name in VULKAN_CONFIGS:
        target = name.format(machine=machine)
        for path in _first(root.files((*CONFIG_DIRECTORIES, "/"), target)):
            found.setdefault(path, File(seen=root.seen(path), path=join("/etc", target)))
    return tuple(found.values())


def _binaries(root: Root) -> tuple[File, ...]:
    found = (_first(root.files(BINARY_DIRECTORIES, name, executable=True)) for name in BINARIES)
    return _unique(root, (path for paths in found for path in paths))


def _storage_files(root: Root) -> tuple[File, ...]:
    """Return what GPUDirect Storage reads beside its device nodes."""
    udev = ["/run/udev"] if root.is_directory("/run/udev") else []
    return _unique(root, [*udev, *root.files(["/etc"], "cufile.json")])


def _sockets(root: Root) -> tuple[File, ...]:
    paths = [path for name in SOCKETS for path in _first(root.files(SOCKET_DIRECTORIES, name))]
    return _unique(root, [*paths, *_first(root.files(["/tmp"], "nvidia-mps"))])  # noqa: S108 The driver's own choice.


def _devices(dev: Root) -> tuple[CharDevice, ...]:
    return tuple(device for pattern in DEVICE_PATTERNS for device in dev.devices(pattern))


def _device_links(dev: Root) -> tuple[DeviceLink, ...]:
    links = []
    for path in dev.glob("/dev/dri/by-path", "pci-*"):
        try:
            target = str(Path(dev.seen(path)).readlink())
        except OSError:
            continue
        links.append(DeviceLink(seen=dev.seen(path), target=target))
    return tuple(links)


def _drm_nodes(sys_root: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    sys = Root(sys_root)
    nodes = []
    for device in sys.glob("/sys/bus/pci/devices", "*"):
        names = tuple(basename(path) for path in sys.glob(join(device, "drm"), "*"))
        if names:
            nodes.append((basename(device), names))
    return tuple(nodes)


def _firmware_class_path(sys_root: str) -> str:
    try:
        path = Root(sys_root).seen("/sys/module/firmware_class/parameters/path")
        return read_regular(path, most=_LONGEST_PATH).decode().strip()
    except (OSError, UnicodeDecodeError):
        return ""


def _first(paths: Iterable[str]) -> list[str]:
    return list(islice(paths, 1))


def _unique(root: Root, paths: Iterable[str]) -> tuple[File, ...]:
    return tuple(root.file(path) for path in dict.fromkeys(paths))
