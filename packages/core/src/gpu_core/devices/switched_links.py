"""Which GPUs are joined through NVSwitches, from what each of them says of its own links. Pure.

A GPU knows how many of its NVLinks end in a switch, and not whom it reaches there. All that end in the switches of one
machine reach each other, unless the driver has put the GPUs into different cliques of a fabric.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gpu_core.devices.model import Gpu, PairLink


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuLinks:
    """What one GPU says: the way to each GPU, by place, and how many of its NVLinks end in a switch."""

    ways: tuple[PairLink, ...]
    into_switches: int = 0


def joined(gpus: Sequence[Gpu], links: Sequence[GpuLinks]) -> tuple[tuple[PairLink, ...], ...]:
    """Return the ways between all GPUs, those through switches among them; `links` has one entry for each GPU."""
    return tuple(
        tuple(
            way if a == b or not _same_clique(gpus[a], gpus[b]) else replace(way, switched=_width(one, links[b]))
            for b, way in enumerate(one.ways)
        )
        for a, one in enumerate(links)
    )


def _width(one: GpuLinks, other: GpuLinks) -> int:
    """Return how many NVLinks both have into the switches; one of them may have lost some."""
    return min(one.into_switches, other.into_switches)


def _same_clique(one: Gpu, other: Gpu) -> bool:
    """Whether nothing is known that keeps the two from reaching each other."""
    a, b = one.fabric, other.fabric
    if a is None or b is None or not (a.joined and b.joined):
        return True
    return (a.cluster_uuid, a.clique) == (b.cluster_uuid, b.clique)
