"""From what the driver reports to what the kubelet sees, and back to health."""

from __future__ import annotations

import pytest

from device_plugin.metrics import DEVICES, EVENTS, MONITORED, TRANSITIONS
from fakes.running_plugin import RunningPlugin, run_plugin, topology
from gpu_demo.kubelet import Kubelet, Listed, StreamEnded

GPU = "nvidia.com/gpu"
A100 = [gpu.uuid for gpu in topology("a100x4-pcie").gpus]
QUICK = """
health:
  probeInterval: 100ms
  recoveryQuietTime: 0s
"""


def unhealthy(listed: Listed) -> set[str]:
    return {device for device, health in listed.health.items() if health != "Healthy"}


def wait_unhealthy(kubelet: Kubelet, *uuids: str, after: int = 0) -> Listed:
    return kubelet.log.wait_for(
        Listed, resource=GPU, after=after, matching=lambda listed: unhealthy(listed) == set(uuids)
    )


@pytest.fixture
def plugin(kubelet: Kubelet) -> RunningPlugin:  # type: ignore[misc]
    with run_plugin(kubelet, "a100x4-pcie") as running:
        kubelet.log.wait_for(Listed)
        yield running


def test_a_fatal_xid_makes_its_gpu_unhealthy_and_no_other(kubelet: Kubelet, plugin: RunningPlugin) -> None:
    plugin.say("event 2 xid=79")
    wait_unhealthy(kubelet, A100[2])
    assert set(kubelet.admit(GPU, 3).devices) == set(A100) - {A100[2]}
    plugin.wait_number(TRANSITIONS, 1, health="unhealthy", cause="xid")
    assert (plugin.number(DEVICES, health="healthy"), plugin.number(DEVICES, health="unhealthy")) == (3, 1)
    assert plugin.log.count("XID 79 (GPU has fallen off the bus) occurred") == 2


def test_ignored_events_and_unknown_ones_change_nothing(kubelet: Kubelet, plugin: RunningPlugin) -> None:
    plugin.say("event 0 xid=13", "event 1 xid=31", "event 3 type=2 data=1", "event 0 xid=43")
    plugin.wait_number(EVENTS, 1, xid="43")
    assert len(kubelet.log.events(Listed)) == 1


def test_an_event_that_repeats_is_counted_and_logged_once(kubelet: Kubelet, plugin: RunningPlugin) -> None:
    plugin.say(*["event 0 xid=13"] * 500)
    plugin.wait_number(EVENTS, 500, xid="13")
    assert plugin.log.count("XID 13") == 1


def test_every_share_of_an_unhealthy_gpu_is_unhealthy(kubelet: Kubelet) -> None:
    config = "sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 3}]}}"
    with run_plugin(kubelet, "a100x4-pcie", config=config) as plugin:
        kubelet.log.wait_for(Listed)
        plugin.say("event 0 xid=48")
        wait_unhealthy(kubelet, *(f"{A100[0]}::{replica}" for replica in range(3)))


def test_an_event_with_instances_concerns_their_mig_device_alone(kubelet: Kubelet) -> None:
    with run_plugin(kubelet, "a100-mig-mixed", "--mig-strategy=mixed") as plugin:
        resources = ("nvidia.com/mig-1g.5gb", "nvidia.com/mig-2g.10gb", "nvidia.com/mig-3g.20gb")
        for resource in resources:
            kubelet.log.wait_for(Listed, resource=resource)
        mig = topology("a100-mig-mixed").gpus[0].mig_devices[2]
        plugin.say(f"event 0 xid=79 gi={mig.gpu_instance} ci={mig.compute_instance}")
        kubelet.log.wait_for(Listed, resource=resources[0], matching=lambda listed: unhealthy(listed) == {mig.uuid})
        plugin.say("event 0 xid=79")
        for resource in resources:
            kubelet.log.wait_for(
                Listed, resource=resource, matching=lambda listed: unhealthy(listed) == set(listed.health)
            )


def test_unhealthy_devices_stay_so_through_reloads_and_kubelets(kubelet: Kubelet, plugin: RunningPlugin) -> None:
    plugin.say("event 1 xid=79")
    wait_unhealthy(kubelet, A100[1])
    plugin.reload()
    before = kubelet.log.position
    kubelet.restart()
    wait_unhealthy(kubelet, A100[1], after=before)
    assert unhealthy(kubelet.log.events(Listed, after=before)[0]) == {A100[1]}


def test_a_gpu_that_stops_answering_is_unhealthy_without_an_event_until_it_answers(kubelet: Kubelet) -> None:
    with run_plugin(kubelet, "a100x4-pcie", config=QUICK) as plugin:
        kubelet.log.wait_for(Listed)
        plugin.say("fail DeviceGetHandleByUUID 2 GPU_IS_LOST")
        wait_unhealthy(kubelet, A100[2])
        after = kubelet.log.position
        plugin.say("heal *")
        wait_unhealthy(kubelet, after=after)


def test_the_drivers_word_brings_a_gpu_back_and_nothing_else(kubelet: Kubelet) -> None:
    # A probe that heard "none" before the event would bring the GPU back; one that heard "reset" would be first to say
    # why it is unhealthy.
    with run_plugin(kubelet, "a100x4-pcie", config=QUICK, before=["recovery 0 unsupported"]) as plugin:
        kubelet.log.wait_for(Listed)
        plugin.say("event 0 xid=79")
        wait_unhealthy(kubelet, A100[0])
        after = kubelet.log.position
        answers = ("recovery 0 reset", "fail DeviceGetMemoryInfo 0 UNKNOWN", "recovery 0 unsupported")
        for number, answer in enumerate(answers, start=1):
            plugin.say(answer, "event 3 xid=13")
            plugin.wait_number(EVENTS, number, xid="13")
            assert not kubelet.log.events(Listed, after=after)
        plugin.say("heal *", "recovery 0 none")
        wait_unhealthy(kubelet, after=after)
        plugin.wait_number(TRANSITIONS, 1, health="healthy", cause="xid")


def test_a_wait_that_keeps_failing_makes_all_unhealthy_once_and_is_told_once(kubelet: Kubelet) -> None:
    with run_plugin(kubelet, "a100x4-pcie", config=QUICK) as plugin:
        kubelet.log.wait_for(Listed)
        plugin.say("fail EventSetWait * UNKNOWN count=1")
        wait_unhealthy(kubelet, *A100)
        wait_unhealthy(kubelet, after=kubelet.log.position - 1)
        plugin.log.wait_for("received again")
        assert plugin.log.count("trying again") == 1
        # Unhealthy all at once, and healthy again as each answers; a slow stream skips steps.
        first, *others = [len(unhealthy(listed)) for listed in kubelet.log.events(Listed)]
        assert (first, others[0], others[-1]) == (0, 4, 0)
        assert others == sorted(set(others), reverse=True)


def test_a_gpu_that_ends_the_wait_by_falling_off_the_bus_leaves_its_neighbours_healthy(kubelet: Kubelet) -> None:
    with run_plugin(kubelet, "a100x4-pcie", config=QUICK) as plugin:
        kubelet.log.wait_for(Listed)
        plugin.say("fail DeviceGetHandleByUUID 2 GPU_IS_LOST", "fail EventSetWait * GPU_IS_LOST count=1")
        wait_unhealthy(kubelet, A100[2])
        assert max(len(unhealthy(listed)) for listed in kubelet.log.events(Listed)) == 1


def test_gpus_that_fall_off_the_bus_one_after_the_other_leave_their_neighbours_healthy(kubelet: Kubelet) -> None:
    with run_plugin(kubelet, "a100x4-pcie", config=QUICK) as plugin:
        kubelet.log.wait_for(Listed)
        for lost in (A100[2:3], A100[2:4]):
            plugin.say(f"fail DeviceGetHandleByUUID {lost[-1]} GPU_IS_LOST", "fail EventSetWait * GPU_IS_LOST count=1")
            wait_unhealthy(kubelet, *lost)
        plugin.say("event 0 xid=79")
        wait_unhealthy(kubelet, A100[0], *A100[2:4])
        assert not plugin.log.count("The driver's health events cannot be received")


def test_a_wait_that_loses_gpus_again_at_once_makes_all_unhealthy(kubelet: Kubelet) -> None:
    with run_plugin(kubelet, "a100x4-pcie", config=QUICK) as plugin:
        kubelet.log.wait_for(Listed)
        plugin.say("fail EventSetWait * GPU_IS_LOST")
        wait_unhealthy(kubelet, *A100)


def test_without_a_monitor_nothing_is_ever_called_healthy(kubelet: Kubelet) -> None:
    with run_plugin(kubelet, "a100x4-pcie", config=QUICK, before=["fail EventSetCreate * UNKNOWN"]) as plugin:
        first = kubelet.log.wait_for(Listed)
        assert unhealthy(first) == set(A100)
        assert plugin.number(MONITORED) == 0
        plugin.say("heal *")
        wait_unhealthy(kubelet)
        plugin.wait_number(MONITORED, 1)


def test_a_gpu_that_cannot_be_watched_is_unhealthy_from_the_first_list_on(kubelet: Kubelet) -> None:
    with run_plugin(kubelet, "a100x4-pcie", before=["fail DeviceRegisterEvents 3 UNKNOWN"]):
        assert unhealthy(kubelet.log.wait_for(Listed)) == {A100[3]}


def test_a_gpu_without_events_is_healthy(kubelet: Kubelet) -> None:
    with run_plugin(kubelet, "a100x4-pcie", before=["fail DeviceRegisterEvents * NOT_SUPPORTED"]) as plugin:
        assert unhealthy(kubelet.log.wait_for(Listed)) == set()
        assert plugin.log.count("reports no events") == 4


def test_with_checks_off_all_are_healthy_and_the_log_says_so(kubelet: Kubelet) -> None:
    before = ["fail EventSetCreate * UNKNOWN"]
    with run_plugin(kubelet, "a100x4-pcie", environ={"DP_DISABLE_HEALTHCHECKS": "all"}, before=before) as plugin:
        assert unhealthy(kubelet.log.wait_for(Listed)) == set()
        assert plugin.log.count("Health checks are off") == 1


@pytest.mark.parametrize("name", ["wsl", "tegra-thor"])
def test_platforms_without_health_checks_are_healthy(kubelet: Kubelet, name: str) -> None:
    with run_plugin(kubelet, name):
        assert unhealthy(kubelet.log.wait_for(Listed)) == set()


def test_a_stream_that_ended_takes_no_event_with_it(kubelet: Kubelet, plugin: RunningPlugin) -> None:
    kubelet.stop()
    kubelet.log.wait_for(StreamEnded)
    plugin.say("event 0 xid=79")
    plugin.wait_number(TRANSITIONS, 1)
    before = kubelet.log.position
    kubelet.start()
    assert unhealthy(kubelet.log.wait_for(Listed, after=before)) == {A100[0]}
