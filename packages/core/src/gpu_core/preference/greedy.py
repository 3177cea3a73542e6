"""Preferred allocation of shares and MIG devices: spread over the GPUs, or filling one after the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from gpu_core.config.words import AllocationPolicy
from gpu_core.resources.model import Device


@dataclass(slots=True, kw_only=True)
class _Holder:
    """A device with free shares while they are handed out; a whole MIG device has one share, itself."""

    place: int
    physical: str
    allocated: int
    free: list[Device] = field(default_factory=list)
    picked: int = 0


def prefer_greedily(
    devices: Iterable[Device], available: Sequence[Device], number: int, policy: AllocationPolicy
) -> tuple[Device, ...]:
    """Return which `number` of the `available` shares to take, one after the other.

    `devices` are all shares of the resource; those that are not available count as allocated. Each step takes from the
    device with the fewest allocated shares (distributed) or the most (packed). Between equals it takes from the one
    picked least so far, then from the GPU picked least (distributed) or most (packed), then from the first.
    """
    holders = _holders(devices, available)
    picked_of_gpu: Counter[str] = Counter()
    sign = -1 if policy is AllocationPolicy.PACKED else 1
    taken = []
    for _ in range(number):
        holder = min(
            (holder for holder in holders if holder.free),
            key=lambda holder: (
                sign * holder.allocated,
                holder.picked,
                sign * picked_of_gpu[holder.physical],
                holder.place,
            ),
        )
        taken.append(holder.free.pop(0))
        holder.allocated += 1
        holder.picked += 1
        picked_of_gpu[holder.physical] += 1
    return tuple(taken)


def _holders(devices: Iterable[Device], available: Sequence[Device]) -> list[_Holder]:
    holders: dict[str, _Holder] = {}
    free = {device.id for device in available}
    for place, device in enumerate(devices):
        holder = holders.setdefault(device.uuid, _Holder(place=place, physical=device.physical, allocated=0))
        if device.id in free:
            holder.free.append(device)
        else:
            holder.allocated += 1
    return list(holders.values())
