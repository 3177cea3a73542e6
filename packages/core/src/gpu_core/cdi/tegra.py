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
from gpu_core.cdi.model import VOID, Edits, Spec, SpecDevice
from gpu_core.cdi.names import CdiClass, kind

CSV_DIRECTORY = "/etc/nvidia-container-runtime/host-files-for-container.d"
CSV_FILES = ("devices.csv", "drivers.csv", "l4t.csv")
RELEASE_FILE = "/etc/nv_tegra_release"


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
    files: TegraFiles, names: Iterable[str], hooks: Hooks, *, cuda_version: str | None, group_access: bool = True
) -> Spec | None:
    """Return the specification of the integrated GPU; None where the CSV files name no device that exists."""
    nodes = edits.device_nodes(files.devices, group_access=group_access)
    if nodes.empty:
        return None
    common_hooks = (
        *hooks.symlinks(edits.library_links(files.libraries)),
        *hooks.symlinks(files.links),
        *(hooks.cuda_compat(cuda_version=cuda_version) if cuda_version else ()),
        *hooks.ldcache(edits.library_folders([*files.libraries, *files.link_targets])),
    )
    common = edits.mounts([*files.directories, *files.libraries, *files.link_targets, *files.system])
    devices = tuple(SpecDevice(name=name, edits=nodes) for name in names)
    return edits.tidy(
        Spec(kind=kind(CdiClass.GPU), devices=devices, edits=common + Edits(env=(VOID,), hooks=common_hooks))
    )
