"""The list that the kubelet gets of a resource."""

from __future__ import annotations

from dataclasses import dataclass

from gpu_core.resources.health import HealthBook
from gpu_core.resources.model import Resource


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedDevice:
    """One device, or share of one, as the kubelet sees it."""

    id: str
    healthy: bool = True
    numa_node: int | None = None


Listing = tuple[ListedDevice, ...]


def listing(resource: Resource, health: HealthBook) -> Listing:
    """Return the devices of a resource, each as healthy as the book says, in their own order."""
    return tuple(
        ListedDevice(id=device.id, healthy=health.state(device).healthy, numa_node=device.numa_node)
        for device in resource.devices
    )
