"""GPUs that were there before and cannot be told any more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gpu_core.devices.model import Fault, Gpu, Inventory, PairLink


def keep_lost(before: Inventory, now: Inventory) -> Inventory:
    """Return the present inventory with the GPUs that became unreadable as they were known, with their fault.

    A GPU that falls off the bus loses its UUID with all else. Its devices have to be reported as unhealthy, not as
    gone, so that their containers are not mixed up with others and its neighbours' indices stay.
    """
    present = {gpu.uuid for gpu in now.gpus}
    known = {gpu.index: gpu for gpu in before.gpus if gpu.uuid not in present}
    lost = {gone.index: _with_fault(known[gone.index], gone.fault) for gone in now.unreadable if gone.index in known}
    if not lost:
        return now
    gpus = sorted((*now.gpus, *lost.values()), key=lambda gpu: gpu.index)
    return replace(
        now,
        gpus=tuple(gpus),
        unreadable=tuple(gone for gone in now.unreadable if gone.index not in lost),
        links=_widened(now, gpus),
    )


def _with_fault(gpu: Gpu, fault: Fault) -> Gpu:
    return gpu if fault in gpu.faults else replace(gpu, faults=(*gpu.faults, fault))


def _widened(now: Inventory, gpus: Sequence[Gpu]) -> tuple[tuple[PairLink, ...], ...]:
    """Return the links between all GPUs; those of a lost one are unknown."""
    if not now.links:
        return ()
    known = {
        (one.uuid, other.uuid): link
        for one, row in zip(now.gpus, now.links, strict=True)
        for other, link in zip(now.gpus, row, strict=True)
    }
    return tuple(tuple(known.get((one.uuid, other.uuid), PairLink()) for other in gpus) for one in gpus)
