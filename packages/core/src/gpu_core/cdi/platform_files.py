"""Finds the files of the platforms whose driver is not installed in the usual way: Tegra and WSL."""

from __future__ import annotations

from pathlib import Path
from posixpath import basename, dirname, join

from gpu_core.cdi.driver import char_device, library
from gpu_core.cdi.driver_files import CharDevice, File
from gpu_core.cdi.search import Root
from gpu_core.cdi.tegra import CSV_DIRECTORY, CSV_FILES, RELEASE_FILE, CsvEntry, CsvType, TegraFiles, parse_csv
from gpu_core.cdi.wsl import CORE_LIBRARY, DEVICE, DRIVER_STORE, STORE_FILES, STORE_MARK, STORE_PATTERNS
from gpu_core.errors import CdiError
from gpu_core.files import read_regular

_LONGEST_CHAIN = 40

_LARGEST = 4 * 1024 * 1024
"""Bytes of a file that lists others, at the most."""


def find_tegra(driver_root: str, dev_root: str) -> TegraFiles:
    """Return what the CSV files name and the node has; without CSV files, what every Tegra system has."""
    entries = _csv_entries(driver_root)
    root = Root(driver_root)
    paths = {kind: [entry.path for entry in entries if entry.type is kind] for kind in CsvType}
    libraries = dict.fromkeys(real for path in paths[CsvType.LIBRARY] for real in _real(root, path))
    targets = dict.fromkeys(real for path in paths[CsvType.SYMLINK] for real in _real(root, path))
    return TegraFiles(
        devices=tuple(device for path in paths[CsvType.DEVICE] for device in Root(dev_root).devices(path)),
        directories=tuple(root.file(path) for path in paths[CsvType.DIRECTORY] if root.is_directory(path)),
        libraries=tuple(library(root, path) for path in libraries),
        link_targets=tuple(root.file(path) for path in targets),
        links=tuple(dict.fromkeys(link for path in paths[CsvType.SYMLINK] for link in _chain(root, path))),
        system=(Root("/").file(RELEASE_FILE),) if Root("/").resolve(RELEASE_FILE) else (),
    )


def find_wsl(driver_root: str, dev_root: str) -> tuple[CharDevice, tuple[File, ...], tuple[File, ...]]:
    """Return the device node, dxcore's library and the files of NVIDIA's driver store; raise CdiError without."""
    root = Root("/" if Root("/").is_directory(DRIVER_STORE) else driver_root)
    device = char_device(dev_root, DEVICE)
    if device is None:
        raise CdiError(f"{DEVICE} was not found below {dev_root}. Check that the GPU is enabled in WSL.")
    stores = [path for path in root.glob(DRIVER_STORE, "*") if root.resolve(join(path, STORE_MARK))]
    if not stores:
        raise CdiError(
            f"No folder of {root.seen(DRIVER_STORE)} holds {STORE_MARK}. Install NVIDIA's driver on the Windows host."
        )
    store = stores[0]
    found = dict.fromkeys(path for pattern in (*STORE_FILES, *STORE_PATTERNS) for path in root.files([store], pattern))
    core = root.files([dirname(CORE_LIBRARY)], basename(CORE_LIBRARY))
    return device, tuple(map(root.file, core)), tuple(map(root.file, found))


def unlisted_tegra(driver_root: str) -> str | None:
    """Return a warning where no CSV files tell what a container needs of this Tegra system."""
    if _csv_folder(driver_root) is not None:
        return None
    return (
        f"No {CSV_DIRECTORY} was found below {driver_root} or /, so CDI gives containers neither device nodes nor "
        "libraries of this Tegra system. Install NVIDIA's L4T container packages, or mount that folder."
    )


def _csv_folder(driver_root: str) -> Path | None:
    folders = (Path(Root(root).seen(CSV_DIRECTORY)) for root in dict.fromkeys((driver_root, "/")))
    return next((folder for folder in folders if folder.is_dir()), None)


def _csv_entries(driver_root: str) -> tuple[CsvEntry, ...]:
    folder = _csv_folder(driver_root)
    texts = [] if folder is None else [_text(folder / name) for name in CSV_FILES]
    return tuple(entry for text in texts for entry in parse_csv(text))


def _text(path: Path) -> str:
    try:
        return read_regular(path, most=_LARGEST).decode("utf-8", "replace")
    except OSError:
        return ""


def _real(root: Root, path: str) -> tuple[str, ...]:
    return root.real_files([dirname(path)], basename(path))


def _chain(root: Root, path: str) -> list[str]:
    """Return every link on the way from `path` to its file, written `target::path`."""
    links: list[str] = []
    here = path
    while (seen := Path(root.seen(here))).is_symlink() and len(links) < _LONGEST_CHAIN:
        target = str(seen.readlink())
        links.append(f"{target}::{here}")
        here = target if target.startswith("/") else join(dirname(here), target)
    return links
