"""The node's condition and an API server that refuses, is silent, or has become willing."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog

from core.health.books import book_of
from core.resources.building import node_of, whole_gpu
from fakes.api_faults import Fault, Refuse, Silence
from fakes.api_server import ApiServer
from fakes.kubeconfig import write_kubeconfig
from gpu_cluster import Backoff, Cluster, connect
from gpu_cluster.node.condition import ConditionKeeper
from gpu_core.runtime.logs import configure

TYPE = "GPUHealthy"


@pytest.fixture
def server() -> Iterator[ApiServer]:
    with ApiServer() as running:
        running.put_node("node-a")
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


def keeper(cluster: Cluster, *, first: float) -> ConditionKeeper:
    """Return one whose pauses after what waiting cannot change are 40 times `first` and more, in seconds."""
    book = book_of(node_of(whole_gpu(0)))
    return ConditionKeeper(
        cluster,
        node="node-a",
        type_=TYPE,
        book=lambda: book,
        settle=0.0,
        backoff=Backoff(chance=lambda: 1.0, first=first, longest=first),
    )


def condition(server: ApiServer) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = server.node("node-a")["status"]["conditions"]
    return found


def patches(server: ApiServer) -> int:
    return len([request for request in server.requests if request.method == "PATCH"])


@pytest.mark.parametrize(
    ("fault", "often"),
    [
        pytest.param(Refuse(403), "every few minutes", id="a missing permission"),
        pytest.param(Refuse(422), "every few minutes", id="a condition that is refused"),
        pytest.param(Refuse(503), "soon", id="an overloaded server"),
    ],
)
def test_a_refused_condition_is_said_once_and_reported_when_that_has_changed(
    server: ApiServer, cluster: Cluster, log: io.StringIO, fault: Fault, often: str
) -> None:
    server.misbehave(fault, method="PATCH", times=3)
    reporting = keeper(cluster, first=0.001)
    reporting.start()
    server.wait_for(lambda: condition(server), timeout=60)
    reporting.stop()
    lines = [json.loads(line)["event"] for line in log.getvalue().splitlines()]
    assert lines == [f"The node's condition is not reported; it is tried again {often}"]


def test_gpus_that_keep_changing_do_not_shorten_the_pause(
    server: ApiServer, cluster: Cluster, log: io.StringIO
) -> None:
    server.misbehave(Refuse(403), method="PATCH", times=1000)
    reporting = keeper(cluster, first=60.0)
    reporting.start()
    server.wait_for(log.getvalue, timeout=60)
    for _ in range(100):
        reporting.changed()
    reporting.stop()
    assert patches(server) == 1


def test_the_end_does_not_wait_for_a_silent_server(server: ApiServer, cluster: Cluster) -> None:
    """It would take half a minute; that the thread ends with the cluster is the test."""
    server.misbehave(Silence(), times=1000)
    reporting = keeper(cluster, first=1.0)
    reporting.start()
    server.wait_for(lambda: server.requests, timeout=60)
    reporting.stop()
    cluster.close()
    reporting._thread.join(20)
    assert not reporting._thread.is_alive()
