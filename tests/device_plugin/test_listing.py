"""From devices and their health to the messages of the kubelet's API."""

from __future__ import annotations

from dataclasses import replace

from device_plugin.allocation.allocate import ContainerResponse, DeviceSpec, ResponseMount
from device_plugin.plugin_api.messages import (
    ListedDevice,
    container_message,
    list_message,
    listing,
    registration_message,
)
from gpu_core.config.words import RecoveryMode
from gpu_core.devices.backend import Watch, Watching
from gpu_core.devices.model import Fault, Gpu, Inventory, Platform
from gpu_core.health.book import HealthBook, HealthRules
from gpu_core.health.xids import XidPolicy
from gpu_core.resources.model import Device, Resource
from gpu_kubelet._pb import deviceplugin_pb2 as pb

RULES = HealthRules(xids=XidPolicy(), recovery=RecoveryMode.DRIVER, quiet=60.0, checks=True)

HEALTHY = Gpu(index=0, uuid="GPU-0", name="T", numa_node=1)
UNHEALTHY = Gpu(index=1, uuid="GPU-1", name="T", faults=(Fault(call="DeviceGetName", code="GPU_IS_LOST"),))


def test_a_list_tells_the_health_and_the_place_of_each_device() -> None:
    resource = Resource(
        name="nvidia.com/gpu",
        devices=(
            Device(id="GPU-1", uuid="GPU-1", index="1", gpu=UNHEALTHY),
            Device(id="GPU-0::0", uuid="GPU-0", index="0", gpu=HEALTHY, numa_node=1, replica=0, replicas=2),
        ),
    )
    inventory = Inventory(platform=Platform.NVML, gpus=(HEALTHY, UNHEALTHY))
    book, _ = HealthBook(rules=RULES, started=0.0).after_inventory(inventory, 0.0)
    book, _ = book.after_watch("GPU-0", Watching(gpu=Watch.WATCHED), 0.0)
    devices = listing(resource, book)
    assert devices == (ListedDevice(id="GPU-1", healthy=False), ListedDevice(id="GPU-0::0", numa_node=1))
    assert list_message(devices) == pb.ListAndWatchResponse(
        devices=[
            pb.Device(ID="GPU-1", health="Unhealthy"),
            pb.Device(ID="GPU-0::0", health="Healthy", topology=pb.TopologyInfo(nodes=[pb.NUMANode(ID=1)])),
        ]
    )


def test_numa_node_zero_is_a_place_too() -> None:
    (device,) = list_message([ListedDevice(id="a", numa_node=0)]).devices
    assert device.topology == pb.TopologyInfo(nodes=[pb.NUMANode(ID=0)])
    assert not list_message([ListedDevice(id="a")]).devices[0].HasField("topology")


def test_what_a_container_is_given_becomes_a_message() -> None:
    response = ContainerResponse(
        envs={"B": "2", "A": "1"},
        mounts=(ResponseMount(container_path="/c", host_path="/h"),),
        devices=(DeviceSpec(container_path="/dev/c", host_path="/dev/h"),),
        annotations={"k": "v"},
        cdi_devices=("n/c=d",),
    )
    assert container_message(response) == pb.ContainerAllocateResponse(
        envs={"A": "1", "B": "2"},
        mounts=[pb.Mount(container_path="/c", host_path="/h")],
        devices=[pb.DeviceSpec(container_path="/dev/c", host_path="/dev/h", permissions="rw")],
        annotations={"k": "v"},
        cdi_devices=[pb.CDIDevice(name="n/c=d")],
    )


def test_a_registration_names_version_endpoint_resource_and_options() -> None:
    assert registration_message(endpoint="x.sock", resource="nvidia.com/x") == pb.RegisterRequest(
        version="v1beta1",
        endpoint="x.sock",
        resource_name="nvidia.com/x",
        options=pb.DevicePluginOptions(get_preferred_allocation_available=True),
    )


def test_responses_add_up_without_repeating_anything() -> None:
    mount, other = (
        ResponseMount(container_path="/a", host_path="/b"),
        ResponseMount(container_path="/c", host_path="/d"),
    )
    node = DeviceSpec(container_path="/a", host_path="/b")
    first = ContainerResponse(envs={"A": "1", "B": "1"}, mounts=(mount,), devices=(node,), cdi_devices=("x",))
    second = ContainerResponse(envs={"B": "2"}, mounts=(other, mount), devices=(node,), cdi_devices=("x", "y"))
    first, second = replace(first, annotations={"k": "1"}), replace(second, annotations={"k": "2"})
    assert first + second == ContainerResponse(
        envs={"A": "1", "B": "2"},
        mounts=(mount, other),
        devices=(node,),
        annotations={"k": "2"},
        cdi_devices=("x", "y"),
    )


def test_devices_of_platforms_without_checks_are_healthy() -> None:
    resource = Resource(name="nvidia.com/gpu", devices=(Device(id="tegra", uuid="tegra", index="0"),))
    assert listing(resource, HealthBook(rules=RULES, started=0.0)) == (ListedDevice(id="tegra", healthy=True),)
