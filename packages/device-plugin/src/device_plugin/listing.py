"""The list that the kubelet gets of a resource."""

from __future__ import annotations

from dataclasses import dataclass

from gpu_core.resources.health import HealthBook
from gpu_core.resources.model import Device, Resource


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedDevice:
    """One device, or share of one, as the kubelet sees it."""

    id: str
    healthy: bool = True
    numa_node: int | None = None


Listing = tuple[ListedDevice, ...]


def listing(resource: Resource, health: HealthBook) -> Listing:
    """Return the devices of a resource, each as healthy as the book says, in their own order."""
    # The shares of a device are as well as it is; there may be thousands of each.
    healthy = {device.uuid: health.state(device).healthy for device in units(resource)}
    return tuple(
        ListedDevice(id=device.id, healthy=healthy[device.uuid], numa_node=device.numa_node)
        for device in resource.devices
    )


def units(resource: Resource) -> tuple[Device, ...]:
    """Return one device or share for each GPU or MIG device of a resource."""
    return tuple({device.uuid: device for device in resource.devices}.values())
