"""The driver's device nodes that are no GPU's: the control nodes, and the channels of IMEX. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from gpu_core.config.model import Imex
from gpu_core.devices.model import Platform
from gpu_core.errors import ResourceError

NEEDED_NODES = ("/dev/nvidiactl", "/dev/nvidia-uvm")
"""Without these no GPU can be used."""

USEFUL_NODES = ("/dev/nvidia-uvm-tools", "/dev/nvidia-modeset")
"""These are for profilers and graphics."""

CONTROL_NODES = (*NEEDED_NODES, *USEFUL_NODES)
"""The nodes that every NVML platform's containers share; those that exist are handed out, in this order."""

IMEX_CHANNEL_NODE = "/dev/nvidia-caps-imex-channels/channel{}"

Exists = Callable[[str], bool]
"""Tells whether there is a device node at an absolute path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImexChannel:
    """An IMEX channel: its number, and its node as containers and as our process have it."""

    number: int
    path: str
    seen: str


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
