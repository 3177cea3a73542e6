"""Which devices the kubelet had best choose for a container: its GetPreferredAllocation, answered."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from gpu_core.counted import counted
from gpu_core.preference.best_set import TooMuchWork, best_set
from gpu_core.preference.close_set import close_set
from gpu_core.preference.closeness import Links, pair_scores
from gpu_core.preference.greedy import prefer_greedily
from gpu_core.resources.model import Device, Resource

EXACT_UP_TO = 16
"""Among this many free GPUs the answer is always the best one, whatever their links."""

STEPS = 6_000
"""How many sets are looked at among more free GPUs before a good answer has to do."""

_MOST_NAMED = 3
"""Devices that a reason names; there may be thousands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Impossible:
    """A question that no choice of devices can answer, and why."""

    reason: str


def prefer(
    resource: Resource, links: Links, available: Sequence[str], required: Sequence[str], size: int
) -> tuple[str, ...] | Impossible:
    """Return the ids of the `size` devices to prefer, all of `required` among them.

    Ids that are named twice count once, and available ones that the resource does not have (any more) do not count:
    lists change while a pod is admitted. `links` may be empty when it is not known how the GPUs are connected.
    """
    known = {device.id: device for device in resource.devices}
    free = {id_: known[id_] for id_ in available if id_ in known}
    required = tuple(dict.fromkeys(required))
    reason = _reason_against(free.keys(), required, size)
    if reason:
        return Impossible(reason=reason)
    if size == 0:
        return ()
    if resource.aligned and all(device.replica is None for device in free.values()):
        return _aligned(resource, links, free, required, size)
    return _greedy(resource, free, required, size)


def _reason_against(free: Collection[str], required: Sequence[str], size: int) -> str:
    """Return why a question cannot be met, whatever kind of devices it is about; empty where it can."""
    if size < 0:
        return f"it asks for {counted(size, 'device')}"
    missing = [id_ for id_ in required if id_ not in free]
    if missing:
        more = f" and {len(missing) - _MOST_NAMED} more" if len(missing) > _MOST_NAMED else ""
        return f"it requires devices that are not available: {', '.join(missing[:_MOST_NAMED])}{more}"
    if len(required) > size:
        return f"it requires {counted(len(required), 'device')} and asks for only {size}"
    if len(free) < size:
        verb = "is" if len(free) == 1 else "are"
        return f"it asks for {counted(size, 'device')}, and only {len(free)} {verb} available"
    return ""


def _aligned(
    resource: Resource, links: Links, free: Mapping[str, Device], required: Sequence[str], size: int
) -> tuple[str, ...]:
    devices = list(free.values())
    if not links:
        devices.sort(key=resource.devices.index)
    chosen = prefer_aligned(devices, [free[id_] for id_ in required], size, links)
    return tuple(device.id for device in chosen)


def _greedy(resource: Resource, free: Mapping[str, Device], required: Sequence[str], size: int) -> tuple[str, ...]:
    candidates = free.keys() - set(required)
    devices = [device for device in resource.devices if device.id in candidates]
    chosen = prefer_greedily(resource.devices, devices, size - len(required), resource.policy)
    return (*required, *(device.id for device in chosen))


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
