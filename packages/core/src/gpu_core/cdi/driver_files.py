"""What was found below a driver root: the facts from which specifications are built.

Every file has two paths: `seen`, where our own process found it, and `path`, where a container will have it.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """A file of the driver."""

    seen: str
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Library(File):
    """A shared library: its SONAME (None: unreadable) and the names of the links that stand beside it."""

    soname: str | None = None
    links: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class CharDevice(File):
    """A character device node. `mode` is its permission bits."""

    major: int
    minor: int
    mode: int = 0o666
    gid: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceLink:
    """A link to a device node: `/dev/dri/by-path/pci-…-card` and the text it holds (`../card1`)."""

    seen: str
    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverFiles:
    """An installed driver, as a container needs it.

    `root` and `dev_root` are as our process sees them. `library_directories` are the container paths of the
    folders that hold libraries of this version. `libraries` are mounted and make links and loader folders;
    `graphics_libraries` are those that only graphics needs. `drm_nodes` maps a PCI address, as the kernel writes
    it, to the names under /dev/dri.
    """

    root: str
    dev_root: str
    version: str
    library_directories: tuple[str, ...] = ()
    libraries: tuple[Library, ...] = ()
    graphics_libraries: tuple[File, ...] = ()
    configs: tuple[File, ...] = ()
    sockets: tuple[File, ...] = ()
    firmware: tuple[File, ...] = ()
    binaries: tuple[File, ...] = ()
    storage_files: tuple[File, ...] = ()
    devices: tuple[CharDevice, ...] = ()
    device_links: tuple[DeviceLink, ...] = ()
    drm_nodes: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def device(self, path: str) -> CharDevice | None:
        """Return the device node that a container will have at `path`, if it exists."""
        return next((device for device in self.devices if device.path == path), None)
