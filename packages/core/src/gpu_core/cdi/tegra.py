"""CDI for Jetson and other Tegra systems, whose files are listed in CSV files that L4T installs.

A line is `<type>, <path>`; the types are `dev` (device node), `dir` (directory), `lib` (library) and `sym` (link).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from gpu_core.cdi import edits
from gpu_core.cdi.driver_files import CharDevice, File, Library
from gpu_core.cdi.hooks import Hooks
from gpu_core.cdi.model import VOID, ContainerEdits, Spec, SpecDevice
from gpu_core.cdi.names import CdiClass, kind

CSV_DIRECTORY = "/etc/nvidia-container-runtime/host-files-for-container.d"
CSV_FILES = ("devices.csv", "drivers.csv", "l4t.csv")
RELEASE_FILE = "/etc/nv_tegra_release"
ORIN_COMPAT = "/usr/local/cuda/compat_orin"
"""Where containers for an Orin have the libraries of a newer CUDA."""


class CsvType(StrEnum):
    """The types of a CSV line."""

    DEVICE = "dev"
    DIRECTORY = "dir"
    LIBRARY = "lib"
    SYMLINK = "sym"


_TYPES = {type_.value: type_ for type_ in CsvType}


@dataclass(frozen=True, slots=True, kw_only=True)
class CsvEntry:
    """One line of a CSV file."""

    type: CsvType
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TegraFiles:
    """What the CSV files name, as found below the driver root. `links` are written `target::path`."""

    devices: tuple[CharDevice, ...] = ()
    directories: tuple[File, ...] = ()
    libraries: tuple[Library, ...] = ()
    link_targets: tuple[File, ...] = ()
    links: tuple[str, ...] = ()
    system: tuple[File, ...] = ()


def parse_csv(text: str) -> tuple[CsvEntry, ...]:
    """Return the entries of a CSV file; lines of another form are left out."""
    entries = []
    for line in text.splitlines():
        word, _, path = (part.strip() for part in line.partition(","))
        if word in _TYPES and path:
            entries.append(CsvEntry(type=_TYPES[word], path=path))
    return tuple(entries)


def tegra_spec(
    files: TegraFiles,
    names: Iterable[str],
    hooks: Hooks,
    *,
    cuda_version: str | None,
    orin: bool = False,
    group_access: bool = True,
) -> Spec | None:
    """Return the specification of the integrated GPU; None where there is nothing at all to give a container.

    `cuda_version` is that of the driver, for containers that bring a newer CUDA along; an Orin has a place of its own
    for that. Without any device node the device brings the release file, since runtimes refuse one that brings nothing.
    """
    device = edits.device_nodes(files.devices, group_access=group_access)
    if device.empty:
        device = edits.mounts(files.system)
    if device.empty:
        return None
    compat_root = ORIN_COMPAT if orin else None
    common_hooks = (
        *hooks.symlinks(edits.library_links(files.libraries)),
        *hooks.symlinks(files.links),
        *(hooks.cuda_compat(cuda_version=cuda_version, container_root=compat_root) if cuda_version else ()),
        *hooks.ldcache(edits.library_folders([*files.libraries, *files.link_targets])),
    )
    common = edits.mounts([*files.directories, *files.libraries, *files.link_targets, *files.system])
    devices = tuple(SpecDevice(name=name, edits=device) for name in names)
    return edits.tidy(
        Spec(kind=kind(CdiClass.GPU), devices=devices, edits=common + ContainerEdits(env=(VOID,), hooks=common_hooks))
    )
