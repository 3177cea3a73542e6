"""Preferred allocation of whole GPUs: those that are connected best, leaving well connected ones behind."""

from __future__ import annotations

from collections.abc import Sequence

from gpu_core.resources.links import Links, pair_scores
from gpu_core.resources.model import Device
from gpu_core.resources.neighbours import close_set
from gpu_core.resources.partition import TooMuchWork, best_set

EXACT_UP_TO = 16
"""Among this many free GPUs the answer is always the best one, whatever their links."""

STEPS = 6_000
"""How many sets are looked at among more free GPUs before a good answer has to do."""


def prefer_aligned(
    devices: Sequence[Device], required: Sequence[Device], size: int, links: Links
) -> tuple[Device, ...]:
    """Return which `size` of the free GPUs to take, in the order of `devices`, all of `required` among them.

    The order of `devices` decides between equally good answers.
    """
    scores = pair_scores(devices, links)
    fixed = [devices.index(device) for device in required]
    try:
        positions = best_set(scores, size, fixed, steps=None if len(devices) <= EXACT_UP_TO else STEPS)
    except TooMuchWork:
        positions = close_set(scores, size, fixed)
    return tuple(devices[position] for position in positions)
