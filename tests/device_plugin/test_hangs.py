"""A driver that hangs or is slow for one GPU: its neighbours are served, watched and allocated as ever."""

from __future__ import annotations

import time

import pytest

from device_plugin.metrics import EVENTS, UNREAD_GPUS
from device_plugin.serve import endpoints
from device_plugin.status.standing import checks
from fakes.patience import PATIENCE
from fakes.running_plugin import RunningPlugin, run_plugin, topology
from gpu_core.runtime.metrics import STUCK_CALLS, Metric
from gpu_core.runtime.probes import Pulse
from gpu_core.runtime.supervise import Reload
from gpu_demo.kubelet import Kubelet, Listed

GPU = "nvidia.com/gpu"
NODE = topology("a100x8")
UUIDS = [gpu.uuid for gpu in NODE.gpus]
HUNG = 3
NEIGHBOURS = set(UUIDS) - {UUIDS[HUNG]}
QUICK = "health: {probeInterval: 100ms, recoveryQuietTime: 0s}"


def healthy(listed: Listed) -> set[str]:
    return {uuid for uuid, health in listed.health.items() if health == "Healthy"}


def wait_healthy(kubelet: Kubelet, uuids: set[str], *, after: int = 0) -> Listed:
    return kubelet.log.wait_for(
        Listed, matching=lambda listed: healthy(listed) == uuids, after=after, timeout=2 * PATIENCE
    )


def gpus_check(plugin: RunningPlugin) -> str:
    return next(check.reason for check in checks(plugin.app.standing()) if check.name == "GPUs")


def scraped(plugin: RunningPlugin, metric: Metric, **labels: str) -> float:
    offered = endpoints(lambda: plugin.app, "node", plugin.counters, Pulse(lambda: 0.0))
    offered.collect()
    return plugin.number(metric, **labels)


def test_a_gpu_that_hangs_at_the_start_belongs_to_no_resource_yet_and_its_neighbours_are_served(
    kubelet: Kubelet,
) -> None:
    with run_plugin(kubelet, NODE, config=QUICK, before=[f"hang DeviceGetName {HUNG} inf"]) as plugin:
        assert kubelet.log.wait_for(Listed).health == dict.fromkeys(NEIGHBOURS, "Healthy")
        assert set(kubelet.admit(GPU, 7).devices) == NEIGHBOURS
        assert gpus_check(plugin) == (
            "7 found, 7 devices and shares served; GPU 3 is not served, as it never answered in full: "
            "nvmlDeviceGetName did not return in time; a call into the driver did not return in time: nvmlDeviceGetName"
        )
        reason = "nvmlDeviceGetName did not return in time"
        assert scraped(plugin, UNREAD_GPUS, index="3", reason=reason) == 1
        assert scraped(plugin, STUCK_CALLS, call="DeviceGetName") == 1
        assert plugin.log.count("GPU 3 is left out: nvmlDeviceGetName did not return in time.") == 1
        plugin.say("event 5 xid=79")
        wait_healthy(kubelet, NEIGHBOURS - {UUIDS[5]})
        plugin.say("recovery 5 none", "heal *")
        # It is looked at again soon, without being asked to.
        wait_healthy(kubelet, set(UUIDS))
        assert (scraped(plugin, UNREAD_GPUS), scraped(plugin, STUCK_CALLS)) == (0, 0)


def test_a_gpu_whose_first_probe_is_late_is_unhealthy_until_it_answers(kubelet: Kubelet) -> None:
    with run_plugin(kubelet, NODE, config=QUICK, before=[f"slow DeviceGetFieldValues {HUNG} 30"]) as plugin:
        first = kubelet.log.wait_for(Listed)
        assert (set(first.health), healthy(first)) == (set(UUIDS), NEIGHBOURS)
        plugin.say("event 5 xid=79")
        wait_healthy(kubelet, NEIGHBOURS - {UUIDS[5]})
        plugin.say("recovery 5 none", "heal *")
        wait_healthy(kubelet, set(UUIDS))


def test_sixteen_gpus_that_are_slow_are_all_healthy_in_the_first_list(kubelet: Kubelet) -> None:
    node = topology("v100x16-dgx2")
    with run_plugin(kubelet, node, before=["slow DeviceGetMemoryInfo * 0.35"]):
        assert kubelet.log.wait_for(Listed).health == dict.fromkeys((gpu.uuid for gpu in node.gpus), "Healthy")


def test_a_gpu_that_hangs_later_is_unhealthy_and_hides_nothing_of_its_neighbours(kubelet: Kubelet) -> None:
    with run_plugin(kubelet, NODE, config=QUICK) as plugin:
        kubelet.log.wait_for(Listed)
        plugin.say(f"hang DeviceGetMemoryInfo {HUNG} inf")
        plugin.log.wait_for("nvmlDeviceGetMemoryInfo did not return in time")
        wait_healthy(kubelet, NEIGHBOURS)
        assert "a call into the driver did not return in time: nvmlDeviceGetMemoryInfo" in gpus_check(plugin)
        plugin.say("event 5 xid=79")
        wait_healthy(kubelet, NEIGHBOURS - {UUIDS[5]})
        assert set(kubelet.admit(GPU, 6).devices) == NEIGHBOURS - {UUIDS[5]}
        plugin.say("recovery 5 none", "heal *")
        wait_healthy(kubelet, set(UUIDS))


def test_an_event_is_heard_while_a_gpu_is_waited_for(kubelet: Kubelet) -> None:
    with run_plugin(kubelet, NODE, config=QUICK) as plugin:
        kubelet.log.wait_for(Listed)
        # Both happen at once: nobody has noticed yet that the first one hangs.
        plugin.say(f"hang DeviceGetMemoryInfo {HUNG} inf", "event 5 xid=79")
        assert UUIDS[5] not in healthy(kubelet.log.wait_for(Listed, times=2))
        wait_healthy(kubelet, NEIGHBOURS - {UUIDS[5]})


def test_a_wait_for_events_that_does_not_return_makes_all_unhealthy_until_it_does(kubelet: Kubelet) -> None:
    with run_plugin(kubelet, NODE, config=QUICK) as plugin:
        kubelet.log.wait_for(Listed)
        plugin.say("hang EventSetWait * inf")
        wait_healthy(kubelet, set())
        assert "nvmlEventSetWait" in gpus_check(plugin)
        assert plugin.log.count("The driver's health events cannot be received") == 1
        plugin.say("heal *")
        wait_healthy(kubelet, set(UUIDS), after=kubelet.log.position)
        plugin.say("event 5 xid=79")
        wait_healthy(kubelet, set(UUIDS) - {UUIDS[5]})


def test_a_driver_that_counts_no_gpus_in_time_makes_all_unhealthy_and_is_asked_again(kubelet: Kubelet) -> None:
    with run_plugin(kubelet, NODE, config=QUICK) as plugin:
        kubelet.log.wait_for(Listed)
        plugin.say("hang DeviceGetCount * inf")
        plugin.rescan()
        wait_healthy(kubelet, set())
        assert "nvmlDeviceGetCount did not return in time" in gpus_check(plugin)
        plugin.say("heal *")
        wait_healthy(kubelet, set(UUIDS), after=kubelet.log.position)


def test_a_reload_is_answered_while_a_gpu_hangs(kubelet: Kubelet) -> None:
    config = "sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 2}]}}"
    with run_plugin(kubelet, NODE, config=QUICK, before=[f"hang DeviceGetMinorNumber {HUNG} inf"]) as plugin:
        kubelet.log.wait_for(Listed)
        plugin.config_file.write_text(config, "utf-8")
        plugin.reload()
        shares = {f"{uuid}::{replica}" for uuid in NEIGHBOURS for replica in range(2)}
        assert set(kubelet.log.wait_for(Listed, matching=lambda listed: len(listed.health) == 14).health) == shares


def test_a_refused_reload_leaves_every_gpu_watched(kubelet: Kubelet) -> None:
    with run_plugin(kubelet, "a100x2-mig-1g", "--mig-strategy=single", config=QUICK) as plugin:
        first = kubelet.log.wait_for(Listed)
        # One GPU is being partitioned, which no `single` allows, and the new file changes how GPUs are watched.
        plugin.say("mig 0")
        plugin.config_file.write_text("health: {probeInterval: 200ms, recoveryQuietTime: 0s}", "utf-8")
        plugin.reload()
        assert plugin.log.count("The new configuration is not used") >= 1
        left = {mig.uuid for mig in topology("a100x2-mig-1g").gpus[1].mig_devices}
        wait_healthy(kubelet, left)
        plugin.say("event 1 xid=79")
        wait_healthy(kubelet, set())
        assert len(first.health) == 14


def test_nothing_is_healthy_while_the_driver_is_opened_anew_and_takes_long(kubelet: Kubelet) -> None:
    config = "health: {probeInterval: 100ms, recoveryQuietTime: 1h}"
    with run_plugin(kubelet, NODE, config=config) as plugin:
        kubelet.log.wait_for(Listed)
        plugin.say("hang Init * inf")
        plugin.config_file.write_text(f"{config}\nflags: {{deviceDiscoveryStrategy: nvml}}", "utf-8")
        plugin.events.put(Reload("a driver that is opened otherwise"))
        wait_healthy(kubelet, set())
        assert plugin.log.count("Nobody receives the driver's health events") == 1
        assert not plugin.log.count("The NVIDIA driver does not start")
        # It was the fault of no GPU, so none has to prove that it is healthy.
        plugin.say("heal *")
        wait_healthy(kubelet, set(UUIDS), after=kubelet.log.position)
        plugin.say("event 5 xid=79")
        wait_healthy(kubelet, set(UUIDS) - {UUIDS[5]})


def test_a_gpu_that_left_the_bus_and_came_back_reports_its_events(kubelet: Kubelet) -> None:
    with run_plugin(kubelet, NODE) as plugin:
        kubelet.log.wait_for(Listed)
        plugin.say(f"remove {HUNG}")
        plugin.rescan()
        wait_healthy(kubelet, NEIGHBOURS)
        plugin.say(f"add {HUNG}")
        plugin.rescan()
        wait_healthy(kubelet, set(UUIDS), after=kubelet.log.position - 1)
        after = kubelet.log.position
        plugin.say(f"event {HUNG} xid=79")
        wait_healthy(kubelet, NEIGHBOURS, after=after)


def test_one_that_was_gone_for_a_moment_only_reports_them_too(kubelet: Kubelet) -> None:
    with run_plugin(kubelet, NODE, config=QUICK) as plugin:
        kubelet.log.wait_for(Listed)
        plugin.say(f"remove {HUNG}", f"add {HUNG}")
        # The next probe finds that the driver gives it another handle; every event from then on is heard.
        end = time.monotonic() + PATIENCE
        while not plugin.number(EVENTS, xid="79"):
            assert time.monotonic() < end
            plugin.say(f"event {HUNG} xid=79")
            time.sleep(0.05)
        wait_healthy(kubelet, NEIGHBOURS)


def test_an_xid_of_a_gpu_that_cannot_tell_its_uuid_concerns_that_gpu_alone(kubelet: Kubelet) -> None:
    with run_plugin(kubelet, NODE) as plugin:
        kubelet.log.wait_for(Listed)
        plugin.say("fail DeviceGetUUID * GPU_IS_LOST", f"event {HUNG} xid=79")
        wait_healthy(kubelet, NEIGHBOURS)


MIG = topology("a100-mig-mixed")
PARTS = [mig.uuid for mig in MIG.gpus[0].mig_devices]


def listed_parts(kubelet: Kubelet) -> dict[str, bool]:
    resources = ("nvidia.com/mig-1g.5gb", "nvidia.com/mig-2g.10gb", "nvidia.com/mig-3g.20gb")
    return {device.id: device.healthy for resource in resources for device in kubelet.devices(resource)}


@pytest.mark.parametrize(
    ("line", "unhealthy"),
    [
        pytest.param("fail DeviceGetMigMode 0 INVALID_ARGUMENT", PARTS, id="its MIG mode is no answer"),
        pytest.param("fail DeviceGetMigMode 0 NOT_SUPPORTED", PARTS, id="its MIG mode is denied"),
        pytest.param("fail DeviceGetMigMode 0 NOT_FOUND", PARTS, id="its MIG mode is not found"),
        pytest.param("fail DeviceGetMaxMigDeviceCount 0 UNKNOWN", PARTS, id="how many there may be is not told"),
        pytest.param("fail DeviceGetMigDeviceHandleByIndex 0 UNKNOWN", PARTS, id="none has a handle"),
        pytest.param("fail DeviceGetUUID 0:1 UNKNOWN", PARTS[1:2], id="one has no UUID"),
        pytest.param("fail DeviceGetPciInfo 0 INVALID_ARGUMENT", PARTS, id="its place on the bus is no answer"),
        pytest.param("hang DeviceGetAttributes 0:1 inf", PARTS, id="it hangs"),
    ],
)
def test_mig_devices_of_a_gpu_that_does_not_answer_in_full_stay_listed(
    kubelet: Kubelet, line: str, unhealthy: list[str]
) -> None:
    with run_plugin(kubelet, MIG, "--mig-strategy=mixed", config=QUICK) as plugin:
        kubelet.log.wait_for(Listed, resource="nvidia.com/mig-1g.5gb")
        kubelet.log.wait_for(Listed, resource="nvidia.com/mig-2g.10gb")
        kubelet.log.wait_for(Listed, resource="nvidia.com/mig-3g.20gb")
        plugin.say(line)
        plugin.rescan()
        kubelet.log.wait_until(
            lambda _: True if listed_parts(kubelet) == {part: part not in unhealthy for part in PARTS} else None,
            "what is unhealthy",
        )
        assert not kubelet.log.events(Listed, resource=GPU)
        plugin.say("heal *")
        kubelet.log.wait_until(
            lambda _: True if listed_parts(kubelet) == dict.fromkeys(PARTS, True) else None, "recovery", timeout=40.0
        )


def test_a_mig_device_whose_own_handle_cannot_be_had_is_unhealthy(kubelet: Kubelet) -> None:
    before = ["fail DeviceGetHandleByUUID 0:1 GPU_IS_LOST"]
    with run_plugin(kubelet, MIG, "--mig-strategy=mixed", config=QUICK, before=before) as plugin:
        for resource in ("nvidia.com/mig-1g.5gb", "nvidia.com/mig-2g.10gb", "nvidia.com/mig-3g.20gb"):
            kubelet.log.wait_for(Listed, resource=resource)
        assert listed_parts(kubelet) == {part: part != PARTS[1] for part in PARTS}
        plugin.say("heal *")
        kubelet.log.wait_until(
            lambda _: True if listed_parts(kubelet) == dict.fromkeys(PARTS, True) else None, "recovery"
        )
