"""The PCI ID database: names of devices by vendor and device number.

A vendor's line is its number and name. The lines of its devices follow and begin with one tab, those of boards with
two. A line whose first character is `#` is a comment.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

NVIDIA = 0x10DE

LOCATIONS = (
    "/usr/share/hwdata/pci.ids",
    "/usr/share/misc/pci.ids",
    "/var/lib/pciutils/pci.ids",
    "/usr/share/pci.ids",
)
"""Where distributions keep the database, in the order in which it is looked for."""

_DEVICE = re.compile(r"\t([0-9a-fA-F]{4})\s+(\S.*)")


def device_names(lines: Iterable[str], vendor: int = NVIDIA) -> dict[int, str]:
    """Return the names of one vendor's devices, by number. Reading ends behind that vendor."""
    names: dict[int, str] = {}
    ours = False
    for line in lines:
        if line.startswith(("#", "\t\t")) or not line.strip():
            continue
        if not line.startswith("\t"):
            if ours:
                break
            ours = line[:4].lower() == f"{vendor:04x}"
            continue
        match = _DEVICE.match(line) if ours else None
        if match is not None:
            names[int(match[1], 16)] = match[2].strip()
    return names
