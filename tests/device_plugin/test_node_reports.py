"""What the cluster hears of the health of a node's GPUs: Events, and one condition among others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from device_plugin.serve import reports_of
from fakes.api_faults import Refuse
from fakes.api_objects import Key
from fakes.api_server import ApiServer
from fakes.kubeconfig import write_kubeconfig
from fakes.running_plugin import RunningPlugin, run_plugin, topology
from gpu_cluster.node.reports import Reports
from gpu_core.config.programs.device_plugin import PluginSettings
from gpu_core.errors import UsageError
from gpu_core.runtime.counters import Counters
from gpu_demo.kubelet import Kubelet, Listed

QUICK = "health: {probeInterval: 100ms, recoveryQuietTime: 0s, recovery: probe}\n"
UUID = topology("t4x1").gpus[0].uuid
NODE = Key("nodes", "", "node-a")
READY = {"type": "Ready", "status": "True", "reason": "KubeletReady", "lastTransitionTime": "2026-01-01T00:00:00Z"}


@pytest.fixture
def server() -> Iterator[ApiServer]:
    with ApiServer() as running:
        running.put_node("node-a")
        running.store.edit(NODE, lambda node: node.update(status={"conditions": [dict(READY)]}))
        yield running


def conditions(server: ApiServer) -> dict[str, dict[str, Any]]:
    return {entry["type"]: entry for entry in server.node("node-a").get("status", {}).get("conditions", [])}


@contextmanager
def reported(server: ApiServer, tmp_path: Path, kubelet: Kubelet, **settings: Any) -> Iterator[RunningPlugin]:
    kubeconfig = write_kubeconfig(tmp_path / "kubeconfig", server.url)
    wanted = PluginSettings(kubeconfig=str(kubeconfig), kube_api_qps=0.0, node_name="node-a", **settings)
    with (
        reports_of(wanted, {}, Counters()) as reports,
        run_plugin(kubelet, "t4x1", config=QUICK, observers=reports.observers) as plugin,
    ):
        reports.follow(lambda: plugin.app.node.health)
        kubelet.log.wait_for(Listed)
        yield plugin


def test_events_tell_what_became_unhealthy_and_healthy_again(
    server: ApiServer, tmp_path: Path, kubelet: Kubelet
) -> None:
    with reported(server, tmp_path, kubelet, node_events=True) as plugin:
        plugin.say("event 0 xid=79")
        server.wait_for(lambda: len(server.store.list("events")) >= 2)
    events = server.store.list("events")
    assert {(event["type"], event["reason"]) for event in events} == {
        ("Warning", "GpuUnhealthy"),
        ("Normal", "GpuHealthy"),
    }
    (unhealthy,) = [event["message"] for event in events if event["type"] == "Warning"]
    assert unhealthy == (
        f"GPU 0 (Tesla T4, {UUID}) is unhealthy: XID 79 (GPU has fallen off the bus) occurred. "
        "Drain the node and restart it. If it comes back, ask the vendor's support."
    )
    assert conditions(server) == {"Ready": READY}


def test_the_condition_follows_and_leaves_others_alone(server: ApiServer, tmp_path: Path, kubelet: Kubelet) -> None:
    with reported(server, tmp_path, kubelet, node_condition="GPUHealthy") as plugin:
        server.wait_for(lambda: "GPUHealthy" in conditions(server))
        healthy = conditions(server)["GPUHealthy"]
        plugin.say("fail DeviceGetUUID * GPU_IS_LOST", "fail DeviceGetHandleByUUID * GPU_IS_LOST")
        server.wait_for(lambda: conditions(server)["GPUHealthy"]["status"] == "False")
        unhealthy = conditions(server)
    assert (healthy["status"], healthy["reason"], healthy["message"]) == (
        "True",
        "GpusHealthy",
        "The only GPU is healthy.",
    )
    assert unhealthy["GPUHealthy"]["reason"] == "GpusUnhealthy"
    assert UUID in unhealthy["GPUHealthy"]["message"]
    assert unhealthy["Ready"] == READY
    assert server.store.list("events") == []
    assert {request.path for request in server.requests if request.method == "PATCH"} == {"/api/v1/nodes/node-a/status"}


def test_a_restart_does_not_make_the_condition_look_new(server: ApiServer, tmp_path: Path, kubelet: Kubelet) -> None:
    old = {"type": "GPUHealthy", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    server.store.edit(NODE, lambda node: node.update(status={"conditions": [READY, old]}))
    with reported(server, tmp_path, kubelet, node_condition="GPUHealthy"):
        server.wait_for(lambda: "message" in conditions(server)["GPUHealthy"])
    assert conditions(server)["GPUHealthy"]["lastTransitionTime"] == "2026-01-01T00:00:00Z"


def test_without_permission_there_is_one_log_line_each(server: ApiServer, tmp_path: Path, kubelet: Kubelet) -> None:
    server.misbehave(Refuse(403), times=1_000_000)
    with reported(server, tmp_path, kubelet, node_events=True, node_condition="GPUHealthy") as plugin:
        plugin.log.wait_for("condition is not reported")
        for _ in range(3):
            before = plugin.log.count("is healthy now")
            plugin.say("event 0 xid=79")
            plugin.log.wait_for("is healthy now", times=before + 1)
        plugin.log.wait_for("An Event was not posted")
    assert plugin.log.count("condition is not reported") == 1
    assert plugin.log.count("An Event was not posted") == 1
    assert len([request for request in server.requests if request.method in ("POST", "PATCH")]) == 2


def test_a_cluster_that_cannot_be_found_is_one_log_line(kubelet: Kubelet) -> None:
    settings = PluginSettings(node_name="a", node_events=True)
    with run_plugin(kubelet, "t4x1") as plugin, reports_of(settings, {}, Counters()) as reports:
        reports.follow(lambda: plugin.app.node.health)
        assert reports.observers == ()
    assert plugin.log.count("Nothing is reported to the cluster") == 1


def test_a_taint_stays_where_no_cluster_can_be_found(kubelet: Kubelet) -> None:
    settings = PluginSettings(node_name="a", remove_taint="example.com/gpu")
    with run_plugin(kubelet, "t4x1") as plugin, reports_of(settings, {}, Counters()) as reports:
        reports.open_node(lambda: 1)
    assert plugin.log.count("Nothing is reported to the cluster, and the taint example.com/gpu stays on the Node") == 1


@pytest.mark.parametrize(
    ("settings", "part"),
    [
        pytest.param(PluginSettings(node_events=True), "--node-name", id="Events without a node's name"),
        pytest.param(PluginSettings(remove_taint="a"), "--node-name", id="a taint without a node's name"),
        pytest.param(
            PluginSettings(node_name="a", remove_taint="a=b:NoSchedule"),
            "'a=b:NoSchedule' is no key of a taint",
            id="a taint with value and effect",
        ),
        pytest.param(
            PluginSettings(node_name="a", remove_taint="a", kubelet_socket=""),
            "--kubelet-socket",
            id="a taint without a kubelet to wait for",
        ),
    ],
)
def test_what_cannot_be_reported_is_a_wrong_use(settings: PluginSettings, part: str) -> None:
    with pytest.raises(UsageError, match=part), reports_of(settings, {}, Counters()):
        pass


def test_nothing_is_connected_where_nothing_is_asked_for() -> None:
    with reports_of(PluginSettings(), {}, Counters()) as reports:
        assert isinstance(reports, Reports)
        assert reports.observers == ()
