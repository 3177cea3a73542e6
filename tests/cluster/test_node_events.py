from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from fakes.api_faults import Fault, Hold, Refuse, Silence
from fakes.api_objects import Key
from fakes.api_server import ApiServer
from gpu_cluster import Backoff, Cluster
from gpu_cluster.node.event_document import LONGEST_MESSAGE, News, Occurrences, node_event, repetition
from gpu_cluster.node.events import NodeEvents
from gpu_core.runtime.counters import Counters
from gpu_core.runtime.metrics import EVENTS_DROPPED

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


REFUSED = "There is no config 'x'."


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        pytest.param(REFUSED, REFUSED, id="a short message stays"),
        pytest.param("x" * 5000, "x" * (LONGEST_MESSAGE - 1) + "…", id="a long message is cut"),
    ],
)
def test_the_event_of_a_node(message: str, expected: str) -> None:
    event = node_event(
        node="a",
        component="config-manager",
        news=News(warning=True, reason="ConfigRefused", message=message),
        seen=Occurrences(count=1, first=NOW, last=NOW),
        unique="1",
    )
    assert event == {**EVENT, "message": expected}


def test_another_occurrence_changes_the_count_and_when_it_was_seen_last() -> None:
    assert repetition(Occurrences(count=7, first=NOW, last=NOW.replace(hour=9))) == {
        "count": 7,
        "lastTimestamp": "2026-01-02T09:04:05Z",
    }


class Poster:
    """Posts Events of node a, and keeps what it was told of failures and drops."""

    def __init__(self, cluster: Cluster) -> None:
        self.failures: list[str] = []
        self.counters = Counters()
        self.now = NOW
        self.time = 0.0
        names = iter(range(1, 10_000))
        self.events = NodeEvents(
            cluster,
            node="a",
            component="config-manager",
            failed=self.failures.append,
            counters=self.counters,
            backoff=Backoff(chance=lambda: 1.0, first=0.01, longest=0.05),
            now=lambda: self.now,
            clock=lambda: self.time,
            unique=lambda: str(next(names)),
        )

    def post(self, message: str = REFUSED) -> None:
        self.events.post(warning=True, reason="ConfigRefused", message=message)

    @property
    def dropped(self) -> float:
        return sum(sample.value for sample in self.counters.snapshot() if sample.metric == EVENTS_DROPPED)


@pytest.fixture
def poster(cluster: Cluster) -> Iterator[Poster]:
    opened = Poster(cluster)
    yield opened
    opened.events.close(timeout=0)


def counts(server: ApiServer) -> dict[str, int]:
    return {event["message"]: event["count"] for event in server.store.list("events", "default")}


def test_an_event_is_posted_as_kubectl_shows_it(poster: Poster, server: ApiServer) -> None:
    poster.post()
    poster.events.close(timeout=60)
    (event,) = server.store.list("events", "default")
    event["metadata"] = {key: event["metadata"][key] for key in ("name", "namespace")}
    assert event == EVENT
    assert (poster.failures, poster.dropped) == ([], 0)


def test_what_is_told_again_is_counted_on_the_same_event(poster: Poster, server: ApiServer) -> None:
    for minute in range(3):
        poster.now = NOW.replace(minute=minute)
        poster.post()
        server.wait_for(lambda: list(counts(server).values()) == [minute + 1], timeout=60)  # noqa: B023  called here
    (event,) = server.store.list("events", "default")
    assert (event["firstTimestamp"], event["lastTimestamp"]) == ("2026-01-02T03:00:05Z", "2026-01-02T03:02:05Z")
    assert [request.method for request in server.requests] == ["POST", "PATCH", "PATCH"]


def test_a_storm_is_a_bounded_number_of_posts_with_the_whole_count(poster: Poster, server: ApiServer) -> None:
    gate = threading.Event()
    server.misbehave(Hold(gate))
    for _ in range(1000):
        poster.post()
    gate.set()
    server.wait_for(lambda: counts(server) == {REFUSED: 1000}, timeout=60)
    assert len(server.requests) <= 2
    assert poster.dropped == 0


def test_different_news_beyond_the_burst_are_dropped_and_counted(poster: Poster, server: ApiServer) -> None:
    for number in range(60):
        poster.post(f"config {number}")
    poster.events.close(timeout=60)
    assert len(server.store.list("events")) == 25
    assert poster.dropped == 35


def test_an_event_that_has_expired_is_made_anew(poster: Poster, server: ApiServer) -> None:
    poster.post()
    server.wait_for(lambda: counts(server) == {REFUSED: 1}, timeout=60)
    server.store.delete(Key("events", "default", "a.1"))
    poster.post()
    server.wait_for(lambda: counts(server) == {REFUSED: 2}, timeout=60)
    assert [event["metadata"]["name"] for event in server.store.list("events")] == ["a.2"]


def test_without_the_right_to_count_what_is_told_again_is_another_event(poster: Poster, server: ApiServer) -> None:
    server.misbehave(Refuse(403), method="PATCH", times=1000)
    for number in range(1, 4):
        poster.post()
        server.wait_for(lambda: len(server.store.list("events")) == number, timeout=60)  # noqa: B023  called here
    assert [event["count"] for event in server.store.list("events")] == [1, 2, 3]
    assert [request.method for request in server.requests] == ["POST", "PATCH", "POST", "POST"]
    assert len(poster.failures) == 1
    assert poster.failures[0].endswith(
        "What is told again becomes another Event; grant `patch` on events, and restart."
    )


@pytest.mark.parametrize(
    "fault",
    [pytest.param(Refuse(500), id="500"), pytest.param(Refuse(401), id="401"), pytest.param(Refuse(429), id="429")],
)
def test_what_could_not_be_posted_is_posted_later_in_order_with_its_time(
    poster: Poster, server: ApiServer, fault: Fault
) -> None:
    server.misbehave(fault, times=3)
    poster.post("first")
    poster.post("second")
    server.wait_for(lambda: len(counts(server)) == 2, timeout=60)
    assert [event["message"] for event in server.store.list("events")] == ["first", "second"]
    assert len(poster.failures) == 1
    assert poster.failures[0].endswith("Events wait, and are tried again soon.")


def test_one_that_the_server_finds_wrong_is_dropped_and_the_next_is_posted(poster: Poster, server: ApiServer) -> None:
    server.misbehave(Refuse(422, message="reason: too long"))
    poster.post("first")
    poster.post("second")
    server.wait_for(lambda: counts(server) == {"second": 1}, timeout=60)
    assert poster.dropped == 1
    assert [text.endswith("The Event is dropped.") for text in poster.failures] == [True]


def test_without_permission_it_is_told_once_and_the_server_is_left_alone_for_minutes(
    poster: Poster, server: ApiServer
) -> None:
    server.misbehave(Refuse(403, message="events is forbidden"), times=1000)
    poster.post()
    server.wait_for(lambda: poster.failures, timeout=60)
    for number in range(10):
        poster.post(f"config {number}")
    poster.events.close()
    assert (len(server.requests), server.store.list("events")) == (1, [])
    assert len(poster.failures) == 1
    assert poster.failures[0].endswith(
        "bound to the service account. Events wait, and are tried again every few minutes."
    )
    assert poster.dropped == 11


def test_a_silent_server_keeps_neither_the_teller_nor_the_end_waiting(
    poster: Poster, server: ApiServer, cluster: Cluster
) -> None:
    """Both would take half a minute; that they end at all is the test."""
    server.misbehave(Silence(), times=1000)
    for number in range(1000):
        poster.post(f"config {number}")
    poster.events.close(timeout=0.1)
    cluster.close()
    assert poster.dropped == 1000
    assert server.store.list("events") == []
