"""What stands for the loader when a machine's own GPUs are opened in tests."""

from __future__ import annotations

import os
from pathlib import Path

from core.devices.nodes import node, say
from gpu_core.devices.simulated.library import SimulatedLibrary
from gpu_core.devices.simulated.state import SimulatedState


class Loader:
    """A loader that knows some libraries, and has been asked for others."""

    def __init__(self, **libraries: object) -> None:
        self._libraries = libraries
        self.asked: list[str] = []

    def __call__(self, path: str) -> object:
        self.asked.append(path)
        try:
            return self._libraries[path.partition(".")[0].rpartition("/")[2].replace("-", "_")]
        except KeyError:
            raise OSError(f"{path}: cannot open shared object file") from None


def library(document: object, *happened: str, events: Path | None = None) -> SimulatedLibrary:
    """Return the library of a node to which something happened."""
    if events is not None:
        say(events, *happened)
    return SimulatedLibrary(SimulatedState(node(document), events))


def pci_function(root: Path, address: str, driver: str, **files: str) -> None:
    """Write a PCI function's folder as the kernel shows it."""
    folder = root / "sys/bus/pci/devices" / address
    folder.mkdir(parents=True)
    bound = root / "sys/bus/pci/drivers" / driver
    bound.mkdir(parents=True, exist_ok=True)
    (folder / "driver").symlink_to(os.path.relpath(bound, folder))
    known = {"vendor": "0x10de", "device": "0x20f1", "class": "0x030200", "numa_node": "-1", "config": "abc"}
    for name, text in (known | files).items():
        (folder / name).write_text(f"{text}\n")
