from __future__ import annotations

from datetime import UTC, datetime

import pytest

from fakes.api_faults import Refuse
from fakes.api_server import ApiServer
from gpu_cluster import Cluster
from gpu_cluster.node_event import LONGEST_MESSAGE, node_event
from gpu_cluster.node_events import NodeEvents

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
EVENT = {
    "apiVersion": "v1",
    "kind": "Event",
    "metadata": {"name": "a.1", "namespace": "default"},
    "involvedObject": {"kind": "Node", "apiVersion": "v1", "name": "a", "uid": "a"},
    "type": "Warning",
    "reason": "ConfigRefused",
    "message": "There is no config 'x'.",
    "source": {"component": "config-manager", "host": "a"},
    "firstTimestamp": "2026-01-02T03:04:05Z",
    "lastTimestamp": "2026-01-02T03:04:05Z",
    "count": 1,
}


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        pytest.param("There is no config 'x'.", "There is no config 'x'.", id="a short message stays"),
        pytest.param("x" * 5000, "x" * (LONGEST_MESSAGE - 1) + "…", id="a long message is cut"),
    ],
)
def test_the_event_of_a_node(message: str, expected: str) -> None:
    event = node_event(
        node="a",
        component="config-manager",
        warning=True,
        reason="ConfigRefused",
        message=message,
        now=NOW,
        unique="1",
    )
    assert event == {**EVENT, "message": expected}


def test_events_are_posted_in_order_and_a_refused_one_is_told_and_forgotten(
    cluster: Cluster, server: ApiServer
) -> None:
    failures: list[str] = []
    names = iter(["1", "2", "3"])
    events = NodeEvents(
        cluster,
        node="a",
        component="config-manager",
        failed=failures.append,
        now=lambda: NOW,
        unique=lambda: next(names),
    )
    server.misbehave(Refuse(500, message="no space left"))
    for _ in range(3):
        events.post(warning=True, reason="ConfigRefused", message="There is no config 'x'.")
    events.close()
    assert [event["metadata"]["name"] for event in server.store.list("events")] == ["a.2", "a.3"]
    assert len(failures) == 1
    (first, *_) = server.store.list("events", "default")
    first["metadata"] = {"name": "a.1", "namespace": "default"}
    assert first == EVENT


def test_without_permission_it_is_told_once_and_nothing_more_is_posted(cluster: Cluster, server: ApiServer) -> None:
    failures: list[str] = []
    events = NodeEvents(cluster, node="a", component="c", failed=failures.append)
    server.misbehave(Refuse(403, message="events is forbidden"))
    for _ in range(3):
        events.post(warning=True, reason="ConfigRefused", message="There is no config 'x'.")
    server.wait_for(lambda: failures)
    events.post(warning=True, reason="ConfigRefused", message="There is no config 'x'.")
    events.close()
    assert (len(server.requests), server.store.list("events")) == (1, [])
    assert len(failures) == 1
    assert failures[0].endswith("bound to the service account. No further Event will be posted.")


def test_more_events_than_can_wait_are_dropped(cluster: Cluster, server: ApiServer) -> None:
    server.stop()
    events = NodeEvents(cluster, node="a", component="c", failed=lambda _text: None)
    for _ in range(1000):
        events.post(warning=False, reason="Reason", message="message")
    events.close(timeout=0)
