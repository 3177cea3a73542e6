"""Between our values and the messages of the kubelet's API: lists, containers, registrations. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from device_plugin.allocation.allocate import ContainerResponse
from gpu_core.health.book import HealthBook
from gpu_core.resources.model import Device, Resource
from gpu_kubelet._pb import deviceplugin_pb2 as pb

VERSION = "v1beta1"
"""The version of the API."""

OPTIONS = pb.DevicePluginOptions(pre_start_required=False, get_preferred_allocation_available=True)

ONLOOKER = ("gpu-suite-onlooker", "yes")
"""What comes with a ListAndWatch call of ours, which must not be taken for the kubelet's."""

_WORDS = {True: "Healthy", False: "Unhealthy"}
_READ_AND_WRITE = "rw"


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedDevice:
    """One device, or share of one, as the kubelet sees it."""

    id: str
    healthy: bool = True
    numa_node: int | None = None


Listing = tuple[ListedDevice, ...]


def listing(resource: Resource, health: HealthBook) -> Listing:
    """Return the devices of a resource, each as healthy as the book says, in their own order."""
    # The shares of a device are as healthy as it is; there may be thousands of each. Without a GPU there are no checks.
    healthy = {device.uuid: device.gpu is None or health.state(device.uuid).healthy for device in units(resource)}
    return tuple(
        ListedDevice(id=device.id, healthy=healthy[device.uuid], numa_node=device.numa_node)
        for device in resource.devices
    )


def units(resource: Resource) -> tuple[Device, ...]:
    """Return one device or share for each GPU or MIG device of a resource."""
    return tuple({device.uuid: device for device in resource.devices}.values())


def list_message(devices: Iterable[ListedDevice]) -> pb.ListAndWatchResponse:
    """Return the list of a resource's devices."""
    return pb.ListAndWatchResponse(devices=[_device(device) for device in devices])


def container_message(response: ContainerResponse) -> pb.ContainerAllocateResponse:
    """Return what one container is given."""
    return pb.ContainerAllocateResponse(
        envs=dict(sorted(response.envs.items())),
        mounts=[
            pb.Mount(container_path=mount.container_path, host_path=mount.host_path, read_only=False)
            for mount in response.mounts
        ],
        devices=[
            pb.DeviceSpec(container_path=node.container_path, host_path=node.host_path, permissions=_READ_AND_WRITE)
            for node in response.devices
        ],
        annotations=dict(sorted(response.annotations.items())),
        cdi_devices=[pb.CDIDevice(name=name) for name in response.cdi_devices],
    )


def registration_message(*, endpoint: str, resource: str) -> pb.RegisterRequest:
    """Return the request that makes a resource known; `endpoint` is the name of its socket's file."""
    return pb.RegisterRequest(version=VERSION, endpoint=endpoint, resource_name=resource, options=OPTIONS)


def _device(device: ListedDevice) -> pb.Device:
    nodes = [] if device.numa_node is None else [pb.NUMANode(ID=device.numa_node)]
    # Without a topology the kubelet aligns nothing; an empty one would count as "on no node".
    topology = pb.TopologyInfo(nodes=nodes) if nodes else None
    return pb.Device(ID=device.id, health=_WORDS[device.healthy], topology=topology)
