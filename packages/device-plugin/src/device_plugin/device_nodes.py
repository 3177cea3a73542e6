"""What the kernel shows of a node's GPUs: the driver's device nodes, and which functions the driver holds."""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterable
from pathlib import Path

from device_plugin.allocate import CONTROL_NODES, IMEX_CHANNEL_NODE
from gpu_core.cdi.spec import ImexChannel
from gpu_core.config.model import Imex
from gpu_core.devices.model import Platform
from gpu_core.errors import ResourceError

Exists = Callable[[str], bool]
"""Tells whether there is a device node at an absolute path."""


def is_character_device(path: str) -> bool:
    """Look whether a path is a character device."""
    try:
        return stat.S_ISCHR(Path(path).stat().st_mode)
    except OSError:
        return False


def bound_functions(directory: Path = Path("/sys/bus/pci/drivers/nvidia")) -> frozenset[str]:
    """Return the addresses of the PCI functions that the kernel's NVIDIA driver holds; none where there is none."""
    try:
        return frozenset(entry.name for entry in directory.iterdir() if ":" in entry.name)
    except OSError:
        return frozenset()


def control_nodes(platform: Platform, exists: Exists) -> tuple[str, ...]:
    """Return the control nodes that containers are given; other platforms than NVML have none."""
    return tuple(filter(exists, CONTROL_NODES)) if platform is Platform.NVML else ()


def imex_channels(imex: Imex, dev_root: str, exists: Exists) -> tuple[tuple[ImexChannel, ...], tuple[str, ...]]:
    """Return the IMEX channels that exist below the dev root or below `/`, and warnings for those that do not.

    Raises ResourceError when a channel that is required is missing.
    """
    found = []
    warnings = []
    for number in imex.channel_ids:
        path = IMEX_CHANNEL_NODE.format(number)
        places = tuple(dict.fromkeys((f"{dev_root.rstrip('/')}{path}", path)))
        seen = _first(places, exists)
        if seen is not None:
            found.append(ImexChannel(number=number, path=path, seen=seen))
            continue
        fact = f"IMEX channel {number} has no device node: looked for {' and '.join(places)}"
        if imex.required:
            raise ResourceError(f"{fact}. Start the IMEX service with this channel, or do not require it.")
        warnings.append(f"{fact}. Containers start without it.")
    return tuple(found), tuple(warnings)


def _first(places: Iterable[str], exists: Exists) -> str | None:
    return next((place for place in places if exists(place)), None)
