"""Which devices the kubelet had best choose for a container: its GetPreferredAllocation, answered."""

from __future__ import annotations

from collections.abc import Sequence

from gpu_core.errors import AllocationError
from gpu_core.resources.aligned import prefer_aligned
from gpu_core.resources.greedy import prefer_greedily
from gpu_core.resources.links import Links
from gpu_core.resources.model import Resource


def prefer(
    resource: Resource, links: Links, available: Sequence[str], required: Sequence[str], size: int
) -> tuple[str, ...]:
    """Return the ids of the devices to prefer, all of `required` among them; empty where nothing can be preferred.

    Ids that are named twice count once. `links` may be empty when it is not known how the GPUs are connected. Raises
    AllocationError for required devices that are not available and when too few shares are.
    """
    available, required = tuple(dict.fromkeys(available)), tuple(dict.fromkeys(required))
    if size <= 0:
        return ()
    free = frozenset(available)
    missing = [device for device in required if device not in free]
    if missing:
        raise AllocationError(
            f"{resource.name}: {', '.join(missing)} must be in the allocation but is not available. Free it first."
        )
    shares = frozenset(device.id for device in resource.devices if device.replica is not None)
    if resource.aligned and shares.isdisjoint(available):
        return _aligned(resource, links, available, required, size)
    return _greedy(resource, available, required, size)


def _aligned(
    resource: Resource, links: Links, available: tuple[str, ...], required: tuple[str, ...], size: int
) -> tuple[str, ...]:
    known = {device.id: device for device in resource.devices}
    unknown = [device for device in available if device not in known]
    if unknown:
        raise AllocationError(f"{resource.name} has no device {', '.join(unknown)}. Ask only for devices it listed.")
    # The kubelet takes an empty answer as no preference and then decides on its own whether it can go on.
    if len(available) < size or len(required) > size:
        return ()
    free = [known[device] for device in available]
    if not links:
        free.sort(key=resource.devices.index)
    chosen = prefer_aligned(free, [known[device] for device in required], size, links)
    return tuple(device.id for device in chosen)


def _greedy(resource: Resource, available: tuple[str, ...], required: tuple[str, ...], size: int) -> tuple[str, ...]:
    candidates = frozenset(available).difference(required)
    free = [device for device in resource.devices if device.id in candidates]
    wanted = size - len(required)
    if len(free) < wanted:
        raise AllocationError(
            f"{resource.name}: {size} devices are asked for, but only {len(free) + len(required)} are available."
        )
    chosen = prefer_greedily(resource.devices, free, wanted, resource.policy)
    return required + tuple(device.id for device in chosen)
