"""What connects two GPUs, as a number to compare: the more, the closer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpu_core.devices.model import Inventory, LinkLevel, PairLink
from gpu_core.resources.model import Device

Links = Mapping[tuple[str, str], PairLink]
"""The way from one GPU to another, by their UUIDs."""

_BY_LEVEL = {
    LinkLevel.SYSTEM: 10,
    LinkLevel.NODE: 20,
    LinkLevel.HOSTBRIDGE: 30,
    LinkLevel.MULTIPLE: 40,
    LinkLevel.SINGLE: 50,
    LinkLevel.INTERNAL: 60,
}
_PER_NVLINK = 100
# The original knows words for up to 18 bridges between two GPUs and counts further ones no more.
_MOST_NVLINKS = 18


def links_by_uuid(inventory: Inventory) -> Links:
    """Return the ways between all pairs of GPUs; empty where the inventory was read without links."""
    gpus = inventory.gpus
    return {
        (gpus[a].uuid, gpus[b].uuid): link
        for a, row in enumerate(inventory.links)
        for b, link in enumerate(row)
        if a != b
    }


def pair_scores(devices: Sequence[Device], links: Links) -> list[list[int]]:
    """Return a symmetric matrix of scores, its diagonal 0.

    Where the PCIe level of a pair is unknown, because a GPU is lost or there are no link facts, sharing a NUMA node
    takes its place.
    """
    scores = [[0] * len(devices) for _ in devices]
    for a, one in enumerate(devices):
        for b in range(a):
            # The original looks from the GPU that comes first in the request.
            scores[a][b] = scores[b][a] = _score(devices[b], one, links)
    return scores


def _score(first: Device, second: Device, links: Links) -> int:
    forth = links.get((first.uuid, second.uuid), PairLink())
    back = links.get((second.uuid, first.uuid), PairLink())
    level = forth.level if forth.level is not None else _level_by_numa(first, second)
    # Bridges that only one end reports are not relied upon.
    bridges = forth.nvlinks if back.nvlinks else 0
    return _BY_LEVEL[level] + _PER_NVLINK * min(bridges, _MOST_NVLINKS)


def _level_by_numa(first: Device, second: Device) -> LinkLevel:
    known = first.numa_node is not None
    return LinkLevel.NODE if known and first.numa_node == second.numa_node else LinkLevel.SYSTEM
