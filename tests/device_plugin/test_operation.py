"""What the plugin tells of itself while it runs: probes, numbers and pages that follow what happens."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from device_plugin.metrics import DEVICES, EVENTS
from device_plugin.serve import endpoints
from fakes.http_client import Reply, get, get_json, scrape
from fakes.page_reading import Reader
from fakes.patience import PATIENCE
from fakes.running_plugin import RunningPlugin, run_plugin, topology
from gpu_core.devices.simulated.files import load_node
from gpu_core.runtime.counters import Counters
from gpu_core.runtime.probes import Pulse
from gpu_core.web.endpoints import answering
from gpu_demo.kubelet import Behaviour, Kubelet, Listed, Registers

GPU = "nvidia.com/gpu"
A100 = [gpu.uuid for gpu in topology("a100x4-pcie").gpus]
QUICK = "health: {probeInterval: 100ms, recoveryQuietTime: 0s}\n"


@contextmanager
def watched(plugin: RunningPlugin) -> Iterator[int]:
    watch = endpoints(lambda: plugin.app, "node-a", plugin.counters, Pulse(time.monotonic))
    with answering("127.0.0.1:0", watch) as port:
        assert port is not None
        yield port


def wait(port: int, condition: Callable[[Reply], object], path: str = "/readyz") -> Reply:
    end = time.monotonic() + PATIENCE
    while not condition(reply := get(port, path)):
        assert time.monotonic() < end, reply
        time.sleep(0.01)
    return reply


def ready(reply: Reply) -> bool:
    return reply.status == 200


def unready(reply: Reply) -> bool:
    return reply.status == 503


def test_readiness_follows_every_resource_through_kubelets_that_come_and_go(kubelet: Kubelet) -> None:
    with run_plugin(kubelet, "a100-mig-mixed", "--mig-strategy=mixed") as plugin, watched(plugin) as port:
        followed = wait(port, ready)
        names = kubelet.resources()
        assert [line for line in followed.lines if "follows the list" in line] == [
            f"[+] {name}: The kubelet follows the list of devices" for name in names
        ]
        kubelet.stop()
        gone = wait(port, lambda reply: reply.body.count("does not exist") == len(names))
        assert gone.status == 503
        kubelet.start()
        wait(port, ready)
        assert get(port, "/healthz").status == 200


def test_a_kubelet_that_takes_registrations_and_does_not_follow_is_not_enough(kubelet: Kubelet) -> None:
    kubelet.behaviour = Behaviour(opens_stream=False)
    with run_plugin(kubelet, "t4x1") as plugin, watched(plugin) as port:
        reply = wait(port, lambda reply: "waiting for it to follow" in reply.body)
    assert reply.status == 503


def test_a_refusal_by_the_kubelet_is_the_reason(kubelet: Kubelet) -> None:
    kubelet.behaviour = Behaviour(registers=Registers.REFUSED)
    with run_plugin(kubelet, "t4x1") as plugin, watched(plugin) as port:
        reply = wait(port, lambda reply: "did not take the registration" in reply.body)
        numbers = scrape(port)
    assert reply.status == 503
    assert numbers["nvidia_device_plugin_registration_failures_total"][GPU,] >= 1
    assert numbers["nvidia_device_plugin_registered"][GPU,] == 0


def test_without_gpus_it_lives_and_is_not_ready_until_one_comes(kubelet: Kubelet) -> None:
    config = "flags: {failOnInitError: false}\n"
    before = ["fail Init * DRIVER_NOT_LOADED"]
    with run_plugin(kubelet, "t4x1", config=config, before=before) as plugin, watched(plugin) as port:
        reply = get(port, "/readyz")
        assert (reply.status, "DRIVER_NOT_LOADED" in reply.body) == (503, True)
        assert get(port, "/healthz").status == 200
        assert "No GPU was found" in get(port, "/").body
        plugin.say("heal *")
        plugin.rescan()
        wait(port, ready)


def test_a_driver_that_goes_takes_readiness_along(kubelet: Kubelet) -> None:
    with run_plugin(kubelet, "a100x4-pcie") as plugin, watched(plugin) as port:
        wait(port, ready)
        plugin.say("fail DeviceGetCount * UNKNOWN")
        plugin.rescan()
        assert "nvmlDeviceGetCount" in wait(port, unready).body


def test_a_config_that_is_refused_is_told_and_the_one_before_keeps_us_ready(kubelet: Kubelet) -> None:
    with run_plugin(kubelet, "t4x1", config="version: v1\n") as plugin, watched(plugin) as port:
        wait(port, ready)
        plugin.config_file.write_text("version: v9\n")
        plugin.reload()
        refused = get(port, "/readyz")
        plugin.config_file.write_text("version: v1 # the same\n")
        plugin.reload()
        healed = get(port, "/readyz")
        numbers = scrape(port)
    assert refused.status == 200
    assert "[+] config: config.yaml as it was is in use; what it says now is refused" in refused.body
    assert healed.lines[-1] == "[+] config: config.yaml is in use"
    loads = numbers["nvidia_device_plugin_config_loads_total"]
    assert loads["refused",] >= 1
    assert loads["unchanged",] >= 1
    assert numbers["nvidia_device_plugin_config_refused"][()] == 0


def test_devices_are_counted_by_resource_health_and_reason(kubelet: Kubelet) -> None:
    with run_plugin(kubelet, "a100x4-pcie", config=QUICK) as plugin, watched(plugin) as port:
        wait(port, ready)
        first = scrape(port)
        plugin.say("recovery 2 reboot", "event 2 xid=79")
        kubelet.log.wait_for(Listed, matching=lambda listed: "Unhealthy" in listed.health.values())
        plugin.wait_number(EVENTS, 1, xid="79")
        second = scrape(port)
        after = kubelet.log.position
        plugin.say("recovery 2 none")
        kubelet.log.wait_for(Listed, after=after, matching=lambda listed: "Unhealthy" not in listed.health.values())
        third = scrape(port)
    devices = [numbers["nvidia_device_plugin_devices"] for numbers in (first, second, third)]
    assert devices[0] == {("healthy", "", GPU): 4}
    assert devices[1][("healthy", "", GPU)] == 3
    ((_, reason, _),) = [labels for labels in devices[1] if labels[0] == "unhealthy"]
    assert reason in ("xid", "action")
    assert devices[2] == {("healthy", "", GPU): 4}
    assert second["nvidia_device_plugin_health_events_total"] == {("79",): 1}
    unhealthy = second["nvidia_device_plugin_unhealthy_since_timestamp_seconds"]
    assert {(index, uuid) for _, index, _, uuid in unhealthy} == {("2", A100[2])}
    assert all(0 <= time.time() - since < 60 for since in unhealthy.values())
    assert "nvidia_device_plugin_unhealthy_since_timestamp_seconds" not in third


def test_the_number_of_devices_is_that_of_the_moment_when_it_is_read(kubelet: Kubelet) -> None:
    with run_plugin(kubelet, "a100x4-pcie") as plugin, watched(plugin) as port:
        wait(port, ready)
        # What somebody counted earlier, and only now gets to write down.
        stale = {"resource": GPU, "health": "healthy", "reason": ""}
        plugin.counters.replace(DEVICES, [(stale, 3.0)])
        assert scrape(port)["nvidia_device_plugin_devices"] == {("healthy", "", GPU): 4}


def test_allocations_and_their_latency_are_counted(kubelet: Kubelet) -> None:
    with run_plugin(kubelet, "a100x4-pcie", config="version: v1\n") as plugin, watched(plugin) as port:
        wait(port, ready)
        before = scrape(port)
        kubelet.admit(GPU, 2)
        kubelet.admit(GPU, 1)
        after = scrape(port)
    assert "nvidia_device_plugin_allocations_total" not in before
    assert after["nvidia_device_plugin_allocations_total"] == {(GPU,): 2}
    took = "nvidia_device_plugin_request_duration_seconds"
    assert after[f"{took}_count"] == {("Allocate", GPU): 2, ("GetPreferredAllocation", GPU): 2}
    assert after[f"{took}_bucket"]["Allocate", "+Inf", GPU] == 2
    assert after[f"{took}_sum"]["Allocate", GPU] > 0
    assert after["nvidia_device_plugin_registrations_total"] == {(GPU,): 1}
    assert 0 <= time.time() - after["nvidia_device_plugin_registration_timestamp_seconds"][GPU,] < 60
    assert after["nvidia_device_plugin_registered"] == {(GPU,): 1}
    assert after["gpu_suite_config_info"] == {(hashlib.sha256(b"version: v1\n").hexdigest(), "config.yaml"): 1}


def test_before_there_is_anything_to_show_the_start_is_shown() -> None:
    watch = endpoints(lambda: None, "node-a", Counters(), Pulse(time.monotonic))
    with answering("127.0.0.1:0", watch) as port:
        reply, page, document = get(port, "/readyz"), get(port, "/"), get_json(port)
    assert (reply.status, reply.body) == (503, "[-] start: the node's GPUs are being read for the first time\n")
    assert "NVIDIA Device Plugin on node-a" in page.body
    assert document["checks"][0]["ok"] is False


def test_the_page_and_its_document_show_the_node(kubelet: Kubelet) -> None:
    config = "sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 3}]}}\n"
    with run_plugin(kubelet, "a100x4-pcie", config=config) as plugin, watched(plugin) as port:
        wait(port, ready)
        plugin.say("event 1 xid=79")
        wait(port, lambda reply: "needs attention" in reply.body, "/")
        page, document = get(port, "/").body, get_json(port)
    assert "3 of 4 healthy" in page
    assert "9 of 12 shares" in page
    assert "XID 79" in page
    assert 'aria-label="Links between GPUs"' in page
    assert "replicas: 3" in page
    assert [gpu["healthy"] for gpu in document["gpus"]] == [True, False, True, True]
    (resource,) = document["resources"]
    assert (resource["listed"], resource["healthy"], resource["sharing"]) == (12, 9, "time-slicing")
    assert document["gpus"][1]["cause"] == "xid"
    assert len(document["links"]) == 4


def test_what_somebody_should_look_at_opens_page_title_and_document(kubelet: Kubelet) -> None:
    config = """
health: {probeInterval: 100ms, recoveryQuietTime: 1h}
sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}
"""
    with run_plugin(kubelet, load_node("h100x8"), config=config) as plugin, watched(plugin) as port:
        wait(port, ready)
        plugin.say("event 1 xid=79", "recovery 1 none", "event 3 xid=94", "event 3 xid=95", "recovery 6 reset")
        expected = ("XID 95", "Recovery action: none", "1, 3, 6 - ")
        wait(port, lambda reply: all(part in Reader(reply.body).text for part in expected), "/")
        page, document, readiness = Reader(get(port, "/").body), get_json(port), get(port, "/readyz").body
    headline = "3 of 8 GPUs need attention: 1, 3, 6"
    assert page.words[:2] == [f"{headline} - NVIDIA Device Plugin on node-a", headline]
    told = [
        ("GPU 1", "XID 79 (GPU has fallen off the bus) occurred", "Drain the node and restart it."),
        ("GPU 3", "XID 94 (Contained ECC error) occurred", "Restart the application that met it"),
        ("", "XID 95 (Uncontained ECC error) occurred", "Take the pods off the GPU and reset it"),
        ("GPU 6", "the driver asks for recovery: reset", "Recovery action: reset, as the driver asks"),
        ("Readiness", "8 found, 3 of them unhealthy; 32 devices and shares served, 12 of them unhealthy", "GPU 0"),
    ]
    places = [page.text.index(part) for parts in told for part in parts if part]
    assert places == sorted(places)
    assert page.text.count("Since: ") == 4
    assert page.text.count("What helps: ") == 4
    assert document["attention"]["text"] == headline
    assert [concern["gpu"] for concern in document["attention"]["concerns"]] == [1, 3, 6]
    assert [gpu["recoveryAction"] for gpu in document["gpus"]][1:7:5] == ["none", "reset"]
    assert readiness.startswith("[+] GPUs: 8 found, 3 of them unhealthy; 32 devices and shares served, 12 of them ")


@pytest.mark.parametrize("node", ["jetson", "wsl"])
def test_a_platform_without_health_checks_needs_no_attention(kubelet: Kubelet, node: str) -> None:
    with run_plugin(kubelet, load_node(node)) as plugin, watched(plugin) as port:
        wait(port, ready)
        document = get_json(port)
    (gpu,) = document["gpus"]
    assert (gpu["healthy"], gpu["reason"]) == (True, "this platform has no health checks")
    assert (document["attention"]["text"], document["attention"]["concerns"]) == ("The only GPU is healthy", [])


@pytest.mark.parametrize("strategy", ["none", "mixed"])
def test_mig_devices_are_shown_with_their_gpus(kubelet: Kubelet, strategy: str) -> None:
    with run_plugin(kubelet, "a100-mig-mixed", f"--mig-strategy={strategy}") as plugin, watched(plugin) as port:
        wait(port, ready)
        document = get_json(port)
    migs = [mig for gpu in document["gpus"] for mig in gpu["migDevices"]]
    assert migs
    assert all(mig["healthy"] for mig in migs)
