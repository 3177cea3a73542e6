"""The start-up taint, and an API server that refuses, is silent, or changes the Node meanwhile."""

from __future__ import annotations

import io
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import structlog

from fakes.api_faults import Drop, Fault, Garbage, Hold, Refuse, Silence
from fakes.api_objects import Key
from fakes.api_server import ApiServer
from fakes.kubeconfig import write_kubeconfig
from fakes.waiting import wait_for
from gpu_cluster import Backoff, Cluster, connect
from gpu_cluster.node.taint_remover import CONFLICTS, TaintRemover
from gpu_core.runtime.logs import configure

KEY = "example.com/gpu-not-ready"
TAINT = {"key": KEY, "value": "true", "effect": "NoSchedule"}
OTHER = {"key": "node.cilium.io/agent-not-ready", "effect": "NoExecute"}
NODE = Key("nodes", "", "node-a")
REMOVED = "The kubelet follows every resource; the start-up taint is off the Node"
NOTHING = "The Node has no start-up taint of this key; there is nothing to take off"


@pytest.fixture
def server() -> Iterator[ApiServer]:
    with ApiServer() as running:
        running.put_node("node-a", labels={"a": "b"})
        taint(running, TAINT, OTHER)
        yield running


@pytest.fixture
def cluster(server: ApiServer, tmp_path: Path) -> Iterator[Cluster]:
    opened = connect(kubeconfig=str(write_kubeconfig(tmp_path / "kubeconfig", server.url)), qps=0, environ={})
    yield opened
    opened.close()


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    former = structlog.get_config()
    stream = io.StringIO()
    configure(json=True, stream=stream)
    yield stream
    structlog.configure(**former)


def taint(server: ApiServer, *taints: dict[str, Any]) -> None:
    """Let a Node have exactly these taints."""
    server.store.edit(NODE, lambda node: node.update(spec={"taints": list(taints), "podCIDR": "10.0.0.0/24"}))


def taints(server: ApiServer) -> list[Any]:
    found: list[Any] = server.node("node-a")["spec"]["taints"]
    return found


def said(log: io.StringIO) -> list[str]:
    return [json.loads(line)["event"] for line in log.getvalue().splitlines()]


def asked(server: ApiServer) -> list[str]:
    return [request.method for request in server.requests]


class Kubelet:
    """Follows every resource since so many registrations, or not."""

    def __init__(self, served: int | None = 1) -> None:
        self.served = served
        self.looks = 0

    def __call__(self) -> int | None:
        self.looks += 1
        return self.served

    def wait_for_looks(self) -> None:
        """Wait until whoever asks has asked twice more, and so has come to an end with what was before."""
        seen = self.looks
        wait_for(lambda: self.looks >= seen + 2, "nobody looks at the kubelet any more")


@contextmanager
def removing(cluster: Cluster, kubelet: Kubelet, *, first: float = 0.001) -> Iterator[TaintRemover]:
    """Remove the taint while the block runs; pauses after a failure are `first`, in seconds, and 40 times that."""
    remover = TaintRemover(
        cluster,
        node="node-a",
        key=KEY,
        served=kubelet,
        look=0.001,
        later_look=0.001,
        backoff=Backoff(chance=lambda: 1.0, first=first, longest=first),
    )
    remover.start()
    yield remover
    remover.stop()


def test_the_taint_is_taken_off_and_everything_else_stays(
    server: ApiServer, cluster: Cluster, log: io.StringIO
) -> None:
    before = server.node("node-a")
    kubelet = Kubelet()
    with removing(cluster, kubelet):
        server.wait_for(lambda: taints(server) == [OTHER])
        kubelet.wait_for_looks()
    node = server.node("node-a")
    assert (node["spec"], node["metadata"]["labels"]) == (
        {"taints": [OTHER], "podCIDR": "10.0.0.0/24"},
        before["metadata"]["labels"],
    )
    assert asked(server) == ["GET", "PATCH"]
    assert said(log) == [REMOVED]


def test_the_taint_stays_until_the_kubelet_follows_every_resource(
    server: ApiServer, cluster: Cluster, log: io.StringIO
) -> None:
    kubelet = Kubelet(None)
    with removing(cluster, kubelet):
        kubelet.wait_for_looks()
        assert (taints(server), asked(server)) == ([TAINT, OTHER], [])
        kubelet.served = 2
        server.wait_for(lambda: taints(server) == [OTHER])
    assert said(log) == [REMOVED]


def test_a_node_without_the_taint_is_looked_at_once_and_never_given_one(
    server: ApiServer, cluster: Cluster, log: io.StringIO
) -> None:
    taint(server, OTHER)
    kubelet = Kubelet()
    with removing(cluster, kubelet):
        server.wait_for(lambda: server.requests)
        kubelet.wait_for_looks()
        kubelet.wait_for_looks()
    assert (taints(server), asked(server)) == ([OTHER], ["GET"])
    assert said(log) == [NOTHING]


def test_a_kubelet_that_registers_its_node_anew_brings_the_taint_back_and_it_goes_again(
    server: ApiServer, cluster: Cluster, log: io.StringIO
) -> None:
    kubelet = Kubelet()
    with removing(cluster, kubelet):
        server.wait_for(lambda: taints(server) == [OTHER])
        kubelet.served = None
        server.delete_node("node-a")
        server.put_node("node-a")
        taint(server, TAINT)
        kubelet.wait_for_looks()
        assert taints(server) == [TAINT]
        kubelet.served = 2
        server.wait_for(lambda: taints(server) == [])
        kubelet.served = 3
        kubelet.wait_for_looks()
        server.wait_for(lambda: len(server.requests) >= 5)
        kubelet.wait_for_looks()
    assert asked(server) == ["GET", "PATCH", "GET", "PATCH", "GET"]
    assert said(log) == [REMOVED, REMOVED]


def test_a_taint_that_somebody_puts_on_meanwhile_is_not_lost(
    server: ApiServer, cluster: Cluster, log: io.StringIO
) -> None:
    gate = threading.Event()
    server.misbehave(Hold(gate), method="PATCH")
    late = {"key": "node.kubernetes.io/disk-pressure", "effect": "NoSchedule"}
    with removing(cluster, Kubelet()):
        server.wait_for(lambda: "PATCH" in asked(server))
        taint(server, TAINT, OTHER, late)
        gate.set()
        server.wait_for(lambda: taints(server) == [OTHER, late])
    assert asked(server) == ["GET", "PATCH", "GET", "PATCH"]
    assert said(log) == [REMOVED]


def test_a_node_that_changes_all_the_time_is_not_run_after_without_a_pause(
    server: ApiServer, cluster: Cluster, log: io.StringIO
) -> None:
    server.misbehave(Refuse(409, reason="Conflict"), method="PATCH", times=1000)
    with removing(cluster, Kubelet(), first=60.0):
        server.wait_for(log.getvalue)
    assert asked(server) == ["GET", "PATCH"] * CONFLICTS
    assert said(log) == ["The start-up taint is not taken off the Node; it is tried again soon"]


@pytest.mark.parametrize(
    ("fault", "method", "often"),
    [
        pytest.param(Refuse(403), "GET", "every few minutes", id="no right to read"),
        pytest.param(Refuse(403), "PATCH", "every few minutes", id="no right to change"),
        pytest.param(Refuse(422), "PATCH", "every few minutes", id="an admission webhook that refuses"),
        pytest.param(Refuse(404, name="node-a"), "GET", "soon", id="a Node that is not registered yet"),
        pytest.param(Refuse(503), "GET", "soon", id="an overloaded server"),
        pytest.param(Drop(), "PATCH", "soon", id="a broken connection"),
        pytest.param(Garbage(b'{"kind": "Login"}'), "GET", "soon", id="something that is no Node"),
        pytest.param(Garbage(b"[" * 100_000), "GET", "soon", id="something nested without end"),
        pytest.param(Garbage(b'{"metadata": {}, "spec": []}'), "GET", "soon", id="a Node whose spec is a list"),
    ],
)
def test_what_goes_wrong_is_said_once_and_tried_again(
    server: ApiServer, cluster: Cluster, log: io.StringIO, *, fault: Fault, method: str, often: str
) -> None:
    server.misbehave(fault, method=method, times=3)
    with removing(cluster, Kubelet()):
        server.wait_for(lambda: taints(server) == [OTHER])
    assert said(log) == [f"The start-up taint is not taken off the Node; it is tried again {often}", REMOVED]


def test_a_missing_permission_is_not_asked_for_over_and_over(
    server: ApiServer, cluster: Cluster, log: io.StringIO
) -> None:
    server.misbehave(Refuse(403), times=1000)
    kubelet = Kubelet()
    with removing(cluster, kubelet, first=60.0):
        server.wait_for(log.getvalue)
        kubelet.served = 2
    assert asked(server) == ["GET"]


def test_a_kubelet_that_goes_while_the_server_thinks_keeps_the_taint(
    server: ApiServer, cluster: Cluster, log: io.StringIO
) -> None:
    gate = threading.Event()
    server.misbehave(Hold(gate), method="GET")
    kubelet = Kubelet()
    with removing(cluster, kubelet):
        server.wait_for(lambda: server.requests)
        kubelet.served = None
        gate.set()
        kubelet.wait_for_looks()
    assert (taints(server), asked(server), said(log)) == ([TAINT, OTHER], ["GET"], [])


def test_the_end_does_not_wait_for_a_silent_server(server: ApiServer, cluster: Cluster, log: io.StringIO) -> None:
    """It would take half a minute; that the thread ends with the cluster is the test."""
    server.misbehave(Silence(), times=1000)
    with removing(cluster, Kubelet()) as remover:
        server.wait_for(lambda: server.requests)
    cluster.close()
    remover._thread.join(20)
    assert not remover._thread.is_alive()
    assert (taints(server), said(log)) == ([TAINT, OTHER], [])


def test_a_system_without_threads_keeps_the_taint_and_the_program(
    cluster: Cluster, log: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", none)
    with removing(cluster, Kubelet()):
        pass
    assert said(log) == ["The start-up taint stays on the Node"]
