"""What NVIDIA's GPUs from Volta on are called, by device number: the table that comes with this package.

A GPU that a virtual machine will drive has no driver here to ask, and images carry no PCI ID database.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files

_TABLE = files("gpu_core.devices").joinpath("gpu_names.txt")


@cache
def gpu_names() -> Mapping[int, str]:
    """Return the names as the PCI ID database writes them: `GA100 [A100 PCIe 80GB]`, or the chip alone."""
    return read_names(_TABLE.read_text("utf-8").splitlines())


def read_names(lines: Iterable[str]) -> dict[int, str]:
    """Return the names in a table: a line of a chip, then one for each product of it, a blank and its number before."""
    names: dict[int, str] = {}
    chip = ""
    for line in lines:
        if not line.startswith(" "):
            chip = line
            continue
        number, _, product = line.strip().partition(" ")
        names[int(number, 16)] = f"{chip} [{product}]" if product else chip
    return names
