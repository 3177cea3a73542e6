from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest

from fakes.plugin_server import PluginServer, device
from gpu_demo.kubelet import (
    Behaviour,
    DialFailed,
    Event,
    Grant,
    Kubelet,
    Listed,
    ListedDevice,
    NotEnoughDevicesError,
    Options,
    Refused,
    Registered,
    Registers,
    Started,
    Stopped,
    StreamEnded,
    StreamOpened,
)
from gpu_kubelet._pb import deviceplugin_pb2 as pb

GPU = "example.com/gpu"


@pytest.fixture
def kubelet(socket_dir: Path) -> Iterator[Kubelet]:
    with Kubelet(socket_dir) as running:
        yield running


def code(error: grpc.RpcError) -> grpc.StatusCode:
    """Return the status of a failed call."""
    assert isinstance(error, grpc.Call)
    return error.code()


def test_a_plugin_registers_and_its_lists_are_kept(kubelet: Kubelet) -> None:
    with PluginServer(kubelet.directory, options=pb.DevicePluginOptions(pre_start_required=True)) as plugin:
        plugin.send(device("a", numa_node=1), device("b"))
        plugin.register()
        kubelet.log.wait_for(Listed, resource=GPU)
        plugin.send(device("a", "Unhealthy", numa_node=1), device("b"))
        kubelet.log.wait_for(Listed, resource=GPU, times=2)
        plugin.send()
        kubelet.log.wait_for(Listed, resource=GPU, times=3)
        plugin.end_streams()
        kubelet.log.wait_for(StreamEnded, resource=GPU)

    options = Options(pre_start_required=True)
    b = ListedDevice(id="b")
    expected: list[Event] = [
        Started(),
        Registered(resource=GPU, version="v1beta1", endpoint="example.com-gpu.sock", options=options),
        StreamOpened(resource=GPU, options=options),
        Listed(resource=GPU, devices=(ListedDevice(id="a", numa_nodes=(1,)), b)),
        Listed(resource=GPU, devices=(ListedDevice(id="a", health="Unhealthy", numa_nodes=(1,)), b)),
        Listed(resource=GPU, devices=()),
        StreamEnded(resource=GPU, reason="the plugin ended it"),
    ]
    assert kubelet.log.events(Event) == tuple(expected)


def test_the_latest_list_and_the_options_can_be_asked_for(kubelet: Kubelet) -> None:
    asks = pb.DevicePluginOptions(get_preferred_allocation_available=True)
    with PluginServer(kubelet.directory, options=asks) as plugin:
        plugin.send(device("a"))
        plugin.register()
        listed = kubelet.log.wait_for(Listed)
        assert kubelet.devices(GPU) == (ListedDevice(id="a"),)
        assert listed.health == {"a": "Healthy"}
        assert kubelet.options(GPU) == Options(preferred_allocation=True)


def test_several_resources_are_served_side_by_side(kubelet: Kubelet) -> None:
    with PluginServer(kubelet.directory) as gpus, PluginServer(kubelet.directory, resource="example.com/mig") as migs:
        for plugin in (gpus, migs):
            plugin.send(device(plugin.resource))
            plugin.register()
            kubelet.log.wait_for(Listed, resource=plugin.resource)
        assert kubelet.resources() == (GPU, "example.com/mig")
        assert kubelet.devices("example.com/mig") == (ListedDevice(id="example.com/mig"),)


def test_an_unknown_resource_is_named_with_those_that_are_connected(kubelet: Kubelet) -> None:
    with pytest.raises(LookupError, match=r"No plugin is connected for example\.com/gpu\. Connected: none\."):
        kubelet.devices(GPU)


def test_a_new_registration_takes_the_place_of_the_old_one(kubelet: Kubelet) -> None:
    with PluginServer(kubelet.directory) as plugin:
        plugin.send(device("a"))
        plugin.register()
        kubelet.log.wait_for(Listed)
        plugin.register()
        kubelet.log.wait_for(Listed, times=2)
        ended = kubelet.log.events(StreamEnded)
        assert ended == (StreamEnded(resource=GPU, reason="a new registration took its place"),)
        assert kubelet.devices(GPU) == (ListedDevice(id="a"),)


def test_a_plugin_that_dies_ends_its_stream(kubelet: Kubelet) -> None:
    with PluginServer(kubelet.directory) as plugin:
        plugin.send(device("a"))
        plugin.register()
        kubelet.log.wait_for(Listed)
    assert kubelet.log.wait_for(StreamEnded).resource == GPU


@pytest.mark.parametrize(
    ("resource", "version"),
    [
        pytest.param(GPU, "v1alpha", id="another API version"),
        pytest.param("gpu", "v1beta1", id="a name without a domain"),
    ],
)
def test_a_wrong_registration_is_refused(kubelet: Kubelet, resource: str, version: str) -> None:
    with PluginServer(kubelet.directory, resource=resource) as plugin:
        with pytest.raises(grpc.RpcError) as caught:
            plugin.register(version=version)
        assert code(caught.value) is grpc.StatusCode.UNKNOWN
        refused = kubelet.log.wait_for(Refused)
        assert (refused.resource, refused.version) == (resource, version)
        assert kubelet.resources() == ()


def test_a_plugin_that_does_not_serve_yet_is_refused(socket_dir: Path, kubelet: Kubelet) -> None:
    plugin = PluginServer(kubelet.directory)
    with pytest.raises(grpc.RpcError) as caught:
        # Shorter than the kubelet's own patience, which nobody wants to wait for.
        plugin.register(timeout=0.2)
    assert code(caught.value) is grpc.StatusCode.DEADLINE_EXCEEDED
    kubelet.stop()
    assert kubelet.log.events(Registered) == ()


def test_a_kubelet_that_refuses_may_change_its_mind(kubelet: Kubelet) -> None:
    kubelet.behaviour = Behaviour(registers=Registers.REFUSED)
    with PluginServer(kubelet.directory) as plugin:
        with pytest.raises(grpc.RpcError):
            plugin.register()
        kubelet.behaviour = Behaviour()
        plugin.register()
        kubelet.log.wait_for(StreamOpened)
        assert kubelet.log.wait_for(Refused).reason == "this kubelet takes no registrations now"


def test_an_older_kubelet_answers_before_it_dials_back(kubelet: Kubelet) -> None:
    kubelet.behaviour = Behaviour(registers=Registers.SERVED_LATER)
    with PluginServer(kubelet.directory) as plugin:
        plugin.send(device("a"))
        plugin.register()
        kubelet.log.wait_for(Listed)
        assert len(kubelet.log.events(Registered)) == 1


def test_an_older_kubelet_reports_a_plugin_that_it_cannot_dial(kubelet: Kubelet) -> None:
    kubelet.behaviour = Behaviour(registers=Registers.SERVED_LATER)
    PluginServer(kubelet.directory).register()
    kubelet.log.wait_for(Registered)
    kubelet.stop()
    assert kubelet.log.wait_for(DialFailed).endpoint == "example.com-gpu.sock"


def test_a_kubelet_may_accept_and_forget(kubelet: Kubelet) -> None:
    kubelet.behaviour = Behaviour(registers=Registers.FORGOTTEN)
    with PluginServer(kubelet.directory) as plugin:
        plugin.register()
        assert kubelet.log.wait_for(Registered).resource == GPU
        assert kubelet.resources() == ()


def test_a_kubelet_may_dial_back_without_ever_opening_the_stream(kubelet: Kubelet) -> None:
    kubelet.behaviour = Behaviour(opens_stream=False)
    with PluginServer(kubelet.directory) as plugin:
        plugin.register()
        assert kubelet.resources() == (GPU,)
        kubelet.stop()
    assert kubelet.log.events(StreamOpened) == ()


def test_a_kubelet_may_leave_a_registration_unanswered(kubelet: Kubelet) -> None:
    kubelet.behaviour = Behaviour(registers=Registers.UNANSWERED)
    with PluginServer(kubelet.directory) as plugin:
        with pytest.raises(grpc.RpcError) as caught:
            plugin.register(timeout=0.1)
        assert code(caught.value) is grpc.StatusCode.DEADLINE_EXCEEDED


def test_a_stop_ends_streams_and_removes_the_socket(kubelet: Kubelet) -> None:
    with PluginServer(kubelet.directory) as plugin:
        plugin.register()
        kubelet.log.wait_for(StreamOpened)
        kubelet.stop()
        kubelet.stop()
        assert kubelet.log.events(StreamEnded) == (StreamEnded(resource=GPU, reason="the kubelet stopped"),)
        assert kubelet.log.events(Stopped) == (Stopped(socket_left=False),)
        assert not kubelet.socket.exists()


def test_a_killed_kubelet_leaves_a_socket_that_refuses(kubelet: Kubelet) -> None:
    kubelet.stop(leave_socket=True)
    assert kubelet.socket.is_socket()
    with socket.socket(socket.AF_UNIX) as client, pytest.raises(ConnectionRefusedError):
        client.connect(str(kubelet.socket))


def test_a_start_clears_the_directory_but_for_the_checkpoint_and_folders(socket_dir: Path) -> None:
    (socket_dir / "nvidia-gpu.sock").touch()
    (socket_dir / "kubelet_internal_checkpoint").touch()
    (socket_dir / "folder").mkdir()
    with Kubelet(socket_dir):
        names = {entry.name for entry in socket_dir.iterdir()}
    assert names == {"kubelet.sock", "kubelet_internal_checkpoint", "folder", ".k"}


def test_quick_restarts_leave_a_socket_that_works(kubelet: Kubelet) -> None:
    for _ in range(5):
        kubelet.restart()
    kubelet.start()
    assert len(kubelet.log.events(Started)) == 6
    with PluginServer(kubelet.directory) as plugin:
        plugin.register()
        kubelet.log.wait_for(StreamOpened)
        assert kubelet.socket.is_socket()


def test_a_container_gets_what_the_plugin_prefers_among_the_healthy_free_devices(kubelet: Kubelet) -> None:
    asks = pb.DevicePluginOptions(pre_start_required=True, get_preferred_allocation_available=True)
    with PluginServer(kubelet.directory, options=asks) as plugin:
        plugin.send(device("a"), device("b"), device("c"), device("unhealthy", "Unhealthy"))
        plugin.register()
        kubelet.log.wait_for(Listed)
        grant = kubelet.admit(GPU, 2)
        assert grant == Grant(
            resource=GPU,
            devices=("b", "c"),
            preferred=("b", "c"),
            response=pb.ContainerAllocateResponse(envs={"DEVICES": "b,c"}),
        )
        preferred = pb.ContainerPreferredAllocationRequest(available_deviceIDs=["a", "b", "c"], allocation_size=2)
        assert plugin.asked == [
            pb.PreferredAllocationRequest(container_requests=[preferred]),
            pb.AllocateRequest(container_requests=[pb.ContainerAllocateRequest(devices_ids=["b", "c"])]),
            pb.PreStartContainerRequest(devices_ids=["b", "c"]),
        ]
        with pytest.raises(
            NotEnoughDevicesError, match=r"asks for 2 of example\.com/gpu, of which 1 are healthy and free"
        ):
            kubelet.admit(GPU, 2)
        kubelet.release(grant)
        assert kubelet.admit(GPU, 3).devices == ("a", "b", "c")


def test_a_plugin_that_offers_no_preference_is_not_asked_for_one(kubelet: Kubelet) -> None:
    with PluginServer(kubelet.directory) as plugin:
        plugin.send(device("b"), device("a"))
        plugin.register()
        kubelet.log.wait_for(Listed)
        grant = kubelet.admit(GPU, 1)
        assert (grant.devices, grant.preferred) == (("a",), None)


def test_calls_can_be_made_one_by_one(kubelet: Kubelet) -> None:
    with PluginServer(kubelet.directory) as plugin:
        plugin.register()
        assert kubelet.preferred(GPU, available=["a", "b", "c"], size=2, must_include=["a"]) == ("b", "c")
        kubelet.pre_start(GPU, ["a"])
        answer = kubelet.allocate(GPU, ["a"], ["b", "c"])
        assert [dict(container.envs) for container in answer.container_responses] == [
            {"DEVICES": "a"},
            {"DEVICES": "b,c"},
        ]


def test_waiting_in_vain_shows_what_happened_instead(kubelet: Kubelet) -> None:
    with pytest.raises(TimeoutError, match=r"Waited 0 s for Listed of example\.com/gpu\.[^\n]*\n  Started"):
        kubelet.log.wait_for(Listed, resource=GPU, timeout=0)


def test_waiting_can_be_for_what_is_yet_to_come_and_for_anything(kubelet: Kubelet) -> None:
    position = kubelet.log.position
    with pytest.raises(TimeoutError):
        kubelet.log.wait_for(Started, after=position, timeout=0)
    assert kubelet.log.wait_for(Started, matching=lambda event: event.resource is None) == Started()
    assert kubelet.log.wait_until(lambda events: len(events) or None, "any event") == 1
