"""What changes while the plugin runs: its config, the node's GPUs, the driver."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from device_plugin.metrics import CONFIG_LOADS
from device_plugin.status.standing import checks
from fakes.plugin_answers import golden
from fakes.running_plugin import run_plugin, topology
from gpu_core.errors import HardwareError, KubeletError, NvmlCallError, SuiteError
from gpu_core.hardware.source import simulated_source
from gpu_core.runtime.probes import Check
from gpu_demo.kubelet import Kubelet, Listed, Registered, StreamEnded

GPU = "nvidia.com/gpu"
LIFE = {case["id"]: case for case in golden("life-cycle")}
A100 = [gpu.uuid for gpu in topology("a100x4-pcie").gpus]


def test_a_reload_that_changes_nothing_is_not_noticed(kubelet: Kubelet) -> None:
    with run_plugin(kubelet, "t4x1") as plugin:
        kubelet.log.wait_for(Listed)
        before = kubelet.log.position
        plugin.reload()
        assert kubelet.log.position == before
        assert plugin.number(CONFIG_LOADS, result="unchanged") == 1


def test_a_new_config_reaches_the_open_stream(kubelet: Kubelet) -> None:
    case = LIFE["life/sighup-reads-new-config"]
    with run_plugin(kubelet, case["topology"], config=case["config"]) as plugin:
        assert len(kubelet.log.wait_for(Listed).devices) == 4
        plugin.config_file.write_text(case["config"].replace("replicas: 4", "replicas: 2"), "utf-8")
        plugin.reload()
        listed = kubelet.log.wait_for(Listed, times=2)
        assert len(listed.devices) == case["expect"]["devices"]
        assert (len(kubelet.log.events(Registered)), kubelet.log.events(StreamEnded)) == (1, ())
        assert plugin.log.count("Running with config") == 2


@pytest.mark.parametrize("strategy", ["timeSlicing", "mps"])
def test_one_replica_serves_whole_gpus_under_their_own_name(kubelet: Kubelet, strategy: str) -> None:
    entry = "{name: nvidia.com/gpu, replicas: 1}"
    config = f"sharing: {{{strategy}: {{renameByDefault: true, resources: [{entry}]}}}}"
    with run_plugin(kubelet, "t4x1", config=config) as plugin:
        (device,) = kubelet.log.wait_for(Listed).devices
        assert [event.resource for event in kubelet.log.events(Registered)] == [GPU]
        (container,) = kubelet.allocate(GPU, [device.id]).container_responses
        assert (dict(container.envs), list(container.mounts)) == ({"NVIDIA_VISIBLE_DEVICES": device.id}, [])
        plugin.config_file.write_text("version: v1\n", "utf-8")
        plugin.reload()
        assert kubelet.log.events(StreamEnded) == ()
        assert len(kubelet.log.events(Listed)) == 1


def test_a_changed_file_is_noticed_without_a_signal(kubelet: Kubelet) -> None:
    with run_plugin(kubelet, "t4x1", config="version: v1\n") as plugin:
        kubelet.log.wait_for(Listed)
        config = "sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 3}]}}"
        plugin.config_file.write_text(config, "utf-8")
        assert len(kubelet.log.wait_for(Listed, times=2).devices) == 3


def test_a_resource_that_goes_is_first_listed_as_empty(kubelet: Kubelet) -> None:
    config = "sharing: {timeSlicing: {renameByDefault: true, resources: [{name: nvidia.com/gpu, replicas: 2}]}}"
    with run_plugin(kubelet, "t4x1", config="version: v1\n") as plugin:
        kubelet.log.wait_for(Listed, resource=GPU)
        plugin.config_file.write_text(config, "utf-8")
        kubelet.log.wait_for(StreamEnded, resource=GPU)
        kubelet.log.wait_for(Listed, resource="nvidia.com/gpu.shared")
        assert [len(listed.devices) for listed in kubelet.log.events(Listed, resource=GPU)] == [1, 0]
        assert not (plugin.directory / "nvidia-gpu.sock").exists()


class Bus:
    """The PCI functions that the kernel's driver holds, changed together with a simulated node's GPUs."""

    def __init__(self, directory: Path) -> None:
        happenings = directory.parent / f"{directory.name}.d" / "events"
        self.source = replace(simulated_source(topology("a100x4-pcie"), happenings), bound=lambda: self.held)
        self.held = frozenset("0123")


def test_gpus_that_are_unplugged_and_plugged_in_are_found_and_the_others_never_flap(kubelet: Kubelet) -> None:
    bus = Bus(kubelet.directory)
    with run_plugin(kubelet, bus.source) as plugin:
        kubelet.log.wait_for(Listed)
        plugin.say("remove 3")
        bus.held = frozenset("012")
        plugin.rescan()
        kubelet.log.wait_for(Listed, matching=lambda listed: listed.health == dict.fromkeys(A100[:3], "Healthy"))
        after = kubelet.log.position
        plugin.say("add 3")
        bus.held = frozenset("0123")
        plugin.rescan()
        all_healthy = dict.fromkeys(A100, "Healthy")
        kubelet.log.wait_for(Listed, matching=lambda listed: listed.health == all_healthy, after=after)
    # The one that is gone may be unhealthy before it is listed no more; that concerns nobody else.
    assert {listed.health[uuid] for listed in kubelet.log.events(Listed) for uuid in A100[:3]} == {"Healthy"}


def test_a_new_gpu_is_watched(kubelet: Kubelet) -> None:
    bus = Bus(kubelet.directory)
    with run_plugin(kubelet, bus.source, before=["remove 3"]) as plugin:
        kubelet.log.wait_for(Listed)
        plugin.say("add 3")
        plugin.rescan()
        plugin.say("event 3 xid=79")
        assert kubelet.log.wait_for(Listed, times=3).health[A100[3]] == "Unhealthy"


def test_a_gpu_that_comes_back_on_the_bus_is_healthy_again(kubelet: Kubelet) -> None:
    with run_plugin(kubelet, "a100x4-pcie") as plugin:
        kubelet.log.wait_for(Listed)
        plugin.say("remove 3")
        plugin.rescan()
        assert kubelet.log.wait_for(Listed, times=2).health[A100[3]] == "Unhealthy"
        plugin.say("add 3")
        plugin.rescan()
        assert kubelet.log.wait_for(Listed, times=3).health == dict.fromkeys(A100, "Healthy")


def test_new_mig_devices_become_new_resources(kubelet: Kubelet) -> None:
    with run_plugin(kubelet, "a100-mig-mixed", "--mig-strategy=mixed") as plugin:
        for resource in ("nvidia.com/mig-1g.5gb", "nvidia.com/mig-2g.10gb", "nvidia.com/mig-3g.20gb"):
            kubelet.log.wait_for(Listed, resource=resource)
        plugin.say("mig 0 3g.20gb 4g.20gb")
        plugin.rescan()
        kubelet.log.wait_for(Listed, resource="nvidia.com/mig-4g.20gb")
        kubelet.log.wait_for(Listed, resource="nvidia.com/mig-1g.5gb", matching=lambda listed: not listed.devices)
        kubelet.log.wait_for(StreamEnded, resource="nvidia.com/mig-2g.10gb")
        # This one is as it was.
        assert len(kubelet.log.events(Listed, resource="nvidia.com/mig-3g.20gb")) == 1


def test_the_interval_finds_changes_by_itself(kubelet: Kubelet) -> None:
    with run_plugin(kubelet, "a100x4-pcie", "--rescan-interval=100ms") as plugin:
        kubelet.log.wait_for(Listed)
        plugin.say("remove 0")
        assert kubelet.log.wait_for(Listed, times=2).health[A100[0]] == "Unhealthy"


def test_without_an_interval_nothing_is_scheduled(kubelet: Kubelet) -> None:
    with run_plugin(kubelet, "t4x1", "--rescan-interval=0s") as plugin:
        assert plugin.app.wait() is None


def test_a_gpu_that_falls_off_the_bus_stays_listed_as_unhealthy(kubelet: Kubelet) -> None:
    with run_plugin(kubelet, "a100x4-pcie") as plugin:
        kubelet.log.wait_for(Listed)
        plugin.say("fail DeviceGetUUID 2 GPU_IS_LOST")
        plugin.rescan()
        listed = kubelet.log.wait_for(Listed, times=2)
        assert [word for word in listed.health.values() if word != "Healthy"] == ["Unhealthy"]
        assert listed.health[A100[2]] == "Unhealthy"
        assert set(kubelet.admit(GPU, 3).devices) == set(A100) - {A100[2]}


def test_a_driver_that_goes_makes_all_unhealthy_until_it_is_back(kubelet: Kubelet) -> None:
    config = "health: {probeInterval: 100ms, recoveryQuietTime: 0s}"
    with run_plugin(kubelet, "a100x4-pcie", config=config) as plugin:
        kubelet.log.wait_for(Listed)
        plugin.say("fail DeviceGetCount * DRIVER_NOT_LOADED", "fail Init * DRIVER_NOT_LOADED")
        plugin.rescan()
        assert set(kubelet.log.wait_for(Listed, times=2).health.values()) == {"Unhealthy"}
        plugin.rescan()
        plugin.say("heal *")
        plugin.rescan()
        kubelet.log.wait_for(Listed, matching=lambda listed: "Unhealthy" not in listed.health.values(), after=4)
        assert plugin.log.count("Looking again, less and less often") == 2
        assert (plugin.log.count("The driver answers"), len(kubelet.log.events(Registered))) == (1, 1)


def test_trouble_that_comes_back_is_told_again(kubelet: Kubelet) -> None:
    with run_plugin(kubelet, "a100x2-mig-1g", "--mig-strategy=single", "--rescan-interval=0s") as plugin:
        kubelet.log.wait_for(Listed)
        for _ in range(2):
            plugin.say("mig 0")
            plugin.rescan()
            plugin.rescan()
            plugin.say(f"mig 0 {' '.join(['1g.5gb'] * 7)}")
            plugin.rescan()
        assert plugin.log.count("What is served stays as it was") == 2


LATE = ("--fail-on-init-error=false",)


def test_a_driver_that_comes_late_is_waited_for(kubelet: Kubelet) -> None:
    with run_plugin(kubelet, "t4x1", *LATE, before=["fail Init * DRIVER_NOT_LOADED"]) as plugin:
        assert plugin.log.count("The kernel driver is not loaded") == 1
        plugin.rescan()
        assert plugin.log.count("The kernel driver is not loaded") == 1
        plugin.say("heal *")
        plugin.rescan()
        kubelet.log.wait_for(Listed)
        # An empty list would make the kubelet think that pods had lost their devices.
        assert [len(listed.devices) for listed in kubelet.log.events(Listed)] == [1]


@pytest.mark.parametrize(
    ("before", "raised"),
    [
        pytest.param(["fail Init * DRIVER_NOT_LOADED"], NvmlCallError, id="no driver"),
        pytest.param(["fail Init * LIB_RM_VERSION_MISMATCH"], NvmlCallError, id="a driver of another version"),
        pytest.param(["fail DeviceGetCount * UNKNOWN"], NvmlCallError, id="GPUs that cannot be counted"),
        pytest.param(["fail DeviceGetUUID * GPU_IS_LOST"], HardwareError, id="no readable GPU"),
    ],
)
def test_what_ends_the_start(kubelet: Kubelet, before: list[str], raised: type[SuiteError]) -> None:
    with pytest.raises(raised), run_plugin(kubelet, "t4x1", before=before):
        pass
    with run_plugin(kubelet, "t4x1", *LATE, before=before):
        assert kubelet.log.events(Registered) == ()


def test_a_node_without_gpus_waits_for_some(kubelet: Kubelet) -> None:
    with run_plugin(kubelet, "nogpu") as plugin:
        plugin.rescan()
        assert plugin.log.count("There is no GPU to serve") == 1
        assert kubelet.log.events(Registered) == ()
        reason = "there is nothing to serve on this node, and nothing is registered"
        assert checks(plugin.app.standing())[0] == Check(name="GPUs", ok=False, reason=reason)


def test_gpus_that_offer_nothing_are_not_taken_for_a_node_without_gpus(kubelet: Kubelet) -> None:
    with run_plugin(kubelet, "a100-mig-empty", "--mig-strategy=mixed") as plugin:
        plugin.rescan()
        assert plugin.log.count("has MIG enabled but no MIG devices") == 1
        assert plugin.log.count("as none of this node's GPUs offers a device") == 1
        assert plugin.log.count("If this is no GPU node") == 0
        assert kubelet.log.events(Registered) == ()


def test_partitions_in_the_making_leave_what_is_there_and_take_what_is_gone(kubelet: Kubelet) -> None:
    with run_plugin(kubelet, "a100x2-mig-1g", "--mig-strategy=single") as plugin:
        kubelet.log.wait_for(Listed)
        plugin.say("mig 0")
        plugin.rescan()
        gone, left = ([mig.uuid for mig in gpu.mig_devices] for gpu in topology("a100x2-mig-1g").gpus)
        partly = dict.fromkeys(gone, "Unhealthy") | dict.fromkeys(left, "Healthy")
        kubelet.log.wait_for(Listed, matching=lambda listed: listed.health == partly)
        assert set(kubelet.admit(GPU, len(left)).devices) == set(left)
        before = kubelet.log.position
        plugin.rescan()
        assert len(kubelet.log.events(Listed, after=before)) == 0
        assert plugin.log.count("What is served stays as it was") == 1


def test_another_driver_root_opens_the_driver_anew(kubelet: Kubelet) -> None:
    with run_plugin(kubelet, "t4x1", config="version: v1\n") as plugin:
        kubelet.log.wait_for(Listed)
        plugin.config_file.write_text("flags: {plugin: {containerDriverRoot: /elsewhere}}\n", "utf-8")
        plugin.reload()
        assert plugin.number(CONFIG_LOADS, result="applied") >= 1
        assert len(kubelet.log.events(Listed)) == 1


def test_a_missing_directory_is_told(socket_dir: Path) -> None:
    with pytest.raises(KubeletError), run_plugin(Kubelet(socket_dir / "none"), "t4x1"):
        pass
