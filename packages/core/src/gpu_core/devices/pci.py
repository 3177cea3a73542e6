"""PCI addresses, and the names of PCI devices.

Addresses have NVML's form, with a domain of eight digits, and the kernel's, with at least four. Names are in the PCI ID
database: a vendor's line is its number and name. The lines of its devices follow and begin with one tab, those of
boards with two. A line whose first character is `#` is a comment.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_NVML = re.compile(r"([0-9a-fA-F]{4,8}):([0-9a-fA-F]{2}):([0-9a-fA-F]{2})\.([0-7])")


def kernel_address(bus_id: str) -> str | None:
    """Return how the kernel writes NVML's bus id: `00000000:07:00.0` is `0000:07:00.0`; None for other texts.

    The kernel prints a domain with at least four digits, so `00010000:07:00.0` keeps five.
    """
    match = _NVML.fullmatch(bus_id)
    if match is None:
        return None
    domain, bus, device, function = match.groups()
    return f"{int(domain, 16):04x}:{bus.lower()}:{device.lower()}.{function}"


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
