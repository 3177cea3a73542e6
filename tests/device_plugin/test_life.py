"""How a plugin comes, stays and goes, with kubelets that do the same."""

from __future__ import annotations

import stat
import threading
import time
from pathlib import Path

import grpc
import pytest

from device_plugin.metrics import REGISTERED, REGISTRATION_FAILURES, REGISTRATIONS
from device_plugin.plugin_api.messages import ONLOOKER
from device_plugin.plugin_api.phases import Patience
from device_plugin.status.running import over_sockets
from fakes.plugin_answers import golden, options, status
from fakes.running_plugin import run_plugin
from gpu_core.errors import KubeletError
from gpu_core.runtime.pause import Pause
from gpu_demo.kubelet import Behaviour, Kubelet, Listed, Refused, Registered, Registers, StreamEnded, StreamOpened
from gpu_kubelet._pb import deviceplugin_pb2 as pb
from gpu_kubelet._pb import deviceplugin_pb2_grpc as rpc

GPU = "nvidia.com/gpu"
LIFE = {case["id"]: case["expect"] for case in golden("life-cycle")}


def sockets(directory: Path) -> dict[str, str]:
    return {path.name: oct(path.lstat().st_mode) for path in directory.iterdir() if stat.S_ISSOCK(path.lstat().st_mode)}


def test_the_socket_has_the_originals_mode_and_goes_with_the_plugin(kubelet: Kubelet) -> None:
    with run_plugin(kubelet, "t4x1"):
        kubelet.log.wait_for(Listed)
        ours = {"nvidia-gpu.sock": LIFE["life/sockets"]["files"]["nvidia-gpu.sock"]}
        assert sockets(kubelet.directory).items() >= ours.items()
    left = {path.name for path in kubelet.directory.iterdir()}
    assert left - {"kubelet.sock", ".k"} == set(LIFE["life/sigterm"]["files_left"])


def test_options_and_pre_start_are_answered(kubelet: Kubelet) -> None:
    expected = LIFE["life/prestart-and-options"]
    with run_plugin(kubelet, "t4x1"):
        kubelet.log.wait_for(Listed)
        assert options(kubelet.options(GPU)) == expected["options"]
        kubelet.pre_start(GPU, ["x"])
        kubelet.pre_start(GPU, [])


def test_without_a_kubelet_socket_it_serves_and_does_not_register(kubelet: Kubelet) -> None:
    expected = LIFE["life/no-kubelet-socket"]
    with run_plugin(kubelet.directory, "t4x1") as plugin:
        plugin.log.wait_for("without registering")
        with grpc.insecure_channel(f"unix:{kubelet.directory}/nvidia-gpu.sock") as channel:
            lists = rpc.DevicePluginStub(channel).ListAndWatch(pb.Empty())
            assert len(next(lists).devices) == expected["devices"]
            lists.cancel()
        assert len(kubelet.log.events(Registered)) == expected["registrations"]


def test_a_kubelet_that_comes_later_is_found(socket_dir: Path) -> None:
    kubelet = Kubelet(socket_dir / "k")
    kubelet.directory.mkdir()
    with run_plugin(kubelet, "t4x1") as plugin:
        plugin.log.wait_for("does not exist")
        with kubelet:
            kubelet.log.wait_for(Listed)
    assert len(kubelet.log.events(Registered)) == 1


def test_streams_of_the_kubelet_before_end_when_another_takes_its_place(kubelet: Kubelet, socket_dir: Path) -> None:
    with run_plugin(kubelet, "t4x1"), grpc.insecure_channel(f"unix:{kubelet.directory}/nvidia-gpu.sock") as channel:
        kubelet.log.wait_for(Listed)
        lists = rpc.DevicePluginStub(channel).ListAndWatch(pb.Empty())
        assert len(next(lists).devices) == 1
        # A socket that is moved keeps its process, so this kubelet comes without clearing the directory.
        with Kubelet(socket_dir / "other") as other:
            other.socket.replace(kubelet.socket)
            assert list(lists) == []
            other.log.wait_for(Refused)


def test_a_directory_that_does_not_exist_is_an_error(socket_dir: Path) -> None:
    kubelet = Kubelet(socket_dir / "k")
    with pytest.raises(KubeletError, match="is no directory, so the kubelet's socket"), run_plugin(kubelet, "t4x1"):
        pass


def test_a_restarted_kubelet_hears_of_every_resource_without_a_look_at_the_hardware(kubelet: Kubelet) -> None:
    expected = LIFE["life/kubelet-restart-many-resources"]
    with run_plugin(kubelet, "a100-mig-mixed", "--mig-strategy=mixed") as plugin:
        for resource in expected["resources"]:
            kubelet.log.wait_for(Listed, resource=resource)
        plugin.say("fail DeviceGetCount * UNKNOWN")
        before = kubelet.log.position
        kubelet.restart()
        for resource in expected["resources"]:
            kubelet.log.wait_for(Listed, resource=resource, after=before)
            kubelet.log.wait_for(StreamEnded, resource=resource)
        assert len(kubelet.log.events(Registered, after=before)) == expected["registrations_after"]
        assert kubelet.resources() == tuple(expected["resources"])


def test_a_socket_that_is_only_deleted_changes_nothing(kubelet: Kubelet) -> None:
    with run_plugin(kubelet, "t4x1") as plugin:
        kubelet.log.wait_for(Listed)
        kubelet.socket.unlink()
        plugin.log.wait_for("does not exist")
        assert len(kubelet.log.events(Registered)) == 1
        assert kubelet.admit(GPU, 1).devices
        assert "nvidia-gpu.sock" in sockets(kubelet.directory)


def test_a_kubelet_that_was_killed_and_left_its_socket_is_followed_by_another(kubelet: Kubelet) -> None:
    with run_plugin(kubelet, "t4x1") as plugin:
        kubelet.log.wait_for(Listed)
        kubelet.stop(leave_socket=True)
        plugin.log.wait_for("ended the stream")
        before = kubelet.log.position
        kubelet.start()
        kubelet.log.wait_for(Listed, after=before)


def test_two_restarts_in_a_row_end_with_one_registration_that_counts(kubelet: Kubelet) -> None:
    with run_plugin(kubelet, "t4x1") as plugin:
        kubelet.log.wait_for(Listed)
        kubelet.restart()
        before = kubelet.log.position
        kubelet.restart()
        kubelet.log.wait_for(Listed, after=before)
        assert kubelet.resources() == (GPU,)
        plugin.wait_number(REGISTERED, 1)


@pytest.mark.parametrize(
    ("behaviour", "said"),
    [
        pytest.param(Behaviour(registers=Registers.REFUSED), "did not take the registration", id="refuses"),
        pytest.param(Behaviour(registers=Registers.FORGOTTEN), "waiting for it to follow", id="accepts and forgets"),
        pytest.param(Behaviour(opens_stream=False), "waiting for it to follow", id="opens no stream"),
    ],
)
def test_a_kubelet_in_trouble_is_tried_again(kubelet: Kubelet, behaviour: Behaviour, said: str) -> None:
    # What takes ten seconds in the field is to be seen at once here.
    soon = Pause(first=0.05, longest=0.05)
    kubelet.behaviour = behaviour
    with run_plugin(kubelet, "t4x1", patience=Patience(stream=soon, refused=soon)) as plugin:
        kubelet.log.wait_for(Refused if behaviour.registers is Registers.REFUSED else Registered, times=3)
        kubelet.behaviour = Behaviour()
        kubelet.log.wait_for(Listed)
        plugin.log.wait_for("follows the list")
        assert plugin.log.count(said) == 1


NEVER = Pause(first=3600.0, longest=3600.0)


def test_a_kubelet_that_takes_no_list_is_never_said_to_follow_and_a_new_one_is_told_at_once(kubelet: Kubelet) -> None:
    kubelet.behaviour = Behaviour(takes_lists=False)
    with run_plugin(kubelet, "t4x1", patience=Patience(lost=Pause(first=0.05, longest=0.05))) as plugin:
        kubelet.log.wait_for(StreamEnded, times=3)
        assert (plugin.number(REGISTERED), plugin.log.count("The kubelet follows")) == (0, 0)
        assert plugin.log.count("takes the registration and does not follow the list: it ended the stream") == 1
    with run_plugin(kubelet, "t4x1", patience=Patience(lost=NEVER)) as plugin:
        plugin.log.wait_for("takes the registration and does not follow")
        kubelet.behaviour = Behaviour()
        kubelet.restart()
        plugin.wait_number(REGISTERED, 1)


@pytest.mark.parametrize(
    ("refusal", "says"),
    [
        pytest.param("UNIMPLEMENTED", "with --kubelet-socket", id="there is no such service"),
        pytest.param("INVALID_ARGUMENT", "Give the resource another name", id="the request is not valid"),
    ],
)
def test_a_refusal_that_waiting_cannot_change_says_what_to_change(kubelet: Kubelet, refusal: str, says: str) -> None:
    kubelet.behaviour = Behaviour(registers=Registers.REFUSED, refusal=refusal)
    with run_plugin(kubelet, "t4x1", patience=Patience(unfit=NEVER)) as plugin:
        plugin.log.wait_for(says)
        assert plugin.log.count("is tried again every few minutes only") == 1
        kubelet.behaviour = Behaviour()
        kubelet.restart()
        plugin.wait_number(REGISTERED, 1)
        assert len(kubelet.log.events(Refused)) == 1


def test_somebody_who_looks_at_the_list_is_not_taken_for_the_kubelet(kubelet: Kubelet) -> None:
    kubelet.behaviour = Behaviour(registers=Registers.FORGOTTEN)
    with run_plugin(kubelet, "t4x1") as plugin:
        plugin.log.wait_for("waiting for it to follow")
        assert over_sockets(kubelet.directory)["resources"][0]["listed"] == 1
        with grpc.insecure_channel(f"unix:{kubelet.directory}/nvidia-gpu.sock") as channel:
            lists = rpc.DevicePluginStub(channel).ListAndWatch(pb.Empty(), metadata=(ONLOOKER,))
            assert len(next(lists).devices) == 1
            time.sleep(2 * Patience().settle)
            assert (plugin.number(REGISTERED), plugin.log.count("The kubelet follows")) == (0, 0)
            lists.cancel()


def test_an_older_kubelet_that_dials_after_its_answer_is_served(kubelet: Kubelet) -> None:
    kubelet.behaviour = Behaviour(registers=Registers.SERVED_LATER)
    with run_plugin(kubelet, "t4x1") as plugin:
        kubelet.log.wait_for(Listed)
        plugin.log.wait_for("follows the list")
        assert (plugin.number(REGISTRATIONS), plugin.number(REGISTRATION_FAILURES)) == (1, 0)


def test_a_kubelet_that_never_answers_does_not_keep_us_from_stopping(kubelet: Kubelet) -> None:
    kubelet.behaviour = Behaviour(registers=Registers.UNANSWERED)
    with run_plugin(kubelet, "t4x1") as plugin:
        plugin.log.wait_for("Serving a resource")
    # The block has ended, though the call would have lasted five seconds more.
    assert kubelet.log.events(StreamOpened) == ()


def test_our_own_socket_is_made_again_when_somebody_removes_it(kubelet: Kubelet) -> None:
    with run_plugin(kubelet, "t4x1"):
        kubelet.log.wait_for(Listed)
        (kubelet.directory / "nvidia-gpu.sock").unlink()
        kubelet.log.wait_for(Listed, times=2)
        assert kubelet.admit(GPU, 1).devices


def test_every_stream_sees_every_change_whenever_it_came(kubelet: Kubelet) -> None:
    with (
        run_plugin(kubelet, "a100x4-pcie") as plugin,
        grpc.insecure_channel(f"unix:{kubelet.directory}/nvidia-gpu.sock") as channel,
    ):
        kubelet.log.wait_for(Listed)
        stub = rpc.DevicePluginStub(channel)
        early = stub.ListAndWatch(pb.Empty())
        broken = stub.ListAndWatch(pb.Empty())
        assert [{device.health for device in next(stream).devices} for stream in (early, broken)] == [{"Healthy"}] * 2
        broken.cancel()
        plugin.say("event 1 xid=79")
        unhealthy = [device.health for device in next(early).devices]
        assert unhealthy == ["Healthy", "Unhealthy", "Healthy", "Healthy"]
        late = stub.ListAndWatch(pb.Empty())
        assert [device.health for device in next(late).devices] == unhealthy
        late.cancel()
        early.cancel()
        kubelet.log.wait_for(Listed, times=2)


def test_too_many_streams_are_refused_and_calls_still_answered(kubelet: Kubelet) -> None:
    with (
        run_plugin(kubelet.directory, "t4x1") as plugin,
        grpc.insecure_channel(f"unix:{kubelet.directory}/nvidia-gpu.sock") as channel,
    ):
        plugin.log.wait_for("without registering")
        stub = rpc.DevicePluginStub(channel)
        streams = [stub.ListAndWatch(pb.Empty()) for _ in range(24)]
        for stream in streams:
            next(stream)
        with pytest.raises(grpc.RpcError) as raised:
            next(stub.ListAndWatch(pb.Empty()))
        assert status(raised.value) == "RESOURCE_EXHAUSTED"
        assert stub.GetDevicePluginOptions(pb.Empty()).get_preferred_allocation_available
        for stream in streams:
            stream.cancel()


def test_a_resource_whose_socket_path_is_too_long_says_so(socket_dir: Path) -> None:
    deep = socket_dir / ("d" * 80)
    deep.mkdir()
    with run_plugin(deep, "t4x1") as plugin:
        plugin.log.wait_for("the kernel takes 107. Choose a shorter name")


def test_nothing_is_left_behind(kubelet: Kubelet) -> None:
    # The first run starts what gRPC keeps for the whole process.
    with run_plugin(kubelet, "t4x1"):
        kubelet.log.wait_for(Listed)
    before = {thread.name for thread in threading.enumerate()}
    with run_plugin(kubelet, "t4x1"):
        kubelet.log.wait_for(Listed, times=2)
    assert {thread.name for thread in threading.enumerate()} <= before
