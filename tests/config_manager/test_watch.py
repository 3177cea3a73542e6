from __future__ import annotations

import queue
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from config_manager.watch import Following, LabelSeen, NodeGone, NodeWatch, Report, Sighting, Trouble
from fakes.api_faults import Drop, Garbage, HalfAnswer, Hold, Refuse, WatchEnd
from fakes.api_server import ApiServer
from fakes.kubeconfig import write_kubeconfig
from fakes.patience import PATIENCE
from gpu_cluster import Backoff, connect

LABEL = "nvidia.com/device-plugin.config"


class Watched:
    """A watch on node `a` that runs in a thread of its own."""

    def __init__(self, server: ApiServer, directory: Path) -> None:
        self.server = server
        self._reports: queue.SimpleQueue[Report] = queue.SimpleQueue()
        self.troubles: list[Report] = []
        kubeconfig = write_kubeconfig(directory / "kubeconfig", server.url)
        self._watch = NodeWatch(
            connect(kubeconfig=str(kubeconfig), qps=0, environ={}),
            node="a",
            label=LABEL,
            report=self._reports.put,
            backoff=Backoff(chance=lambda: 0.0, first=0.02, longest=0.1),
            clock=time.monotonic,
            watch_timeout=lambda: 300.0,
        )
        self._thread = threading.Thread(target=self._watch.run, daemon=True)
        self._thread.start()

    def sighting(self) -> Sighting:
        while True:
            report = self._reports.get(timeout=PATIENCE)
            if isinstance(report, LabelSeen | NodeGone):
                return report
            self.troubles.append(report)

    def sort_out(self) -> None:
        """Put what was reported so far, and is no sighting, among the troubles."""
        while not self._reports.empty():
            report = self._reports.get()
            if not isinstance(report, LabelSeen | NodeGone):
                self.troubles.append(report)

    def is_open(self) -> None:
        self.server.wait_for(lambda: self.server.watches)

    def stop(self) -> None:
        self._watch.stop()
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()


@pytest.fixture
def server() -> Iterator[ApiServer]:
    with ApiServer() as running:
        yield running


@pytest.fixture
def watched(server: ApiServer, tmp_path: Path) -> Iterator[Watched]:
    running = Watched(server, tmp_path)
    yield running
    running.stop()


def label(server: ApiServer, value: str | None) -> None:
    server.put_node("a", labels={} if value is None else {LABEL: value})


def test_the_label_is_seen_first_by_reading_then_by_watching(server: ApiServer, tmp_path: Path) -> None:
    label(server, "one")
    watched = Watched(server, tmp_path)
    assert watched.sighting() == LabelSeen(value="one")
    watched.is_open()
    label(server, "two")
    assert watched.sighting() == LabelSeen(value="two")
    watched.stop()
    assert watched.troubles == []


def test_a_node_without_the_label_is_seen_as_such(server: ApiServer, tmp_path: Path) -> None:
    label(server, None)
    watched = Watched(server, tmp_path)
    assert watched.sighting() == LabelSeen(value=None)
    watched.stop()


def test_a_node_that_comes_late_is_deleted_and_made_anew(server: ApiServer, watched: Watched) -> None:
    assert watched.sighting() == NodeGone()
    label(server, "one")
    assert watched.sighting() == LabelSeen(value="one")
    server.delete_node("a")
    assert watched.sighting() == NodeGone()
    label(server, "two")
    assert watched.sighting() == LabelSeen(value="two")


def test_changes_that_are_none_of_our_business_are_not_reported(server: ApiServer, watched: Watched) -> None:
    assert watched.sighting() == NodeGone()
    label(server, "one")
    assert watched.sighting() == LabelSeen(value="one")
    server.put_node("b", labels={LABEL: "other"})
    server.put_node("a", labels={LABEL: "one", "other": "label"})
    label(server, "two")
    assert watched.sighting() == LabelSeen(value="two")


@pytest.mark.parametrize("how", list(WatchEnd), ids=str)
def test_what_changes_while_the_watch_is_interrupted_is_seen_after(
    server: ApiServer, watched: Watched, how: WatchEnd
) -> None:
    assert watched.sighting() == NodeGone()
    for number in range(3):
        watched.is_open()
        server.end_watches(how)
        label(server, str(number))
        assert watched.sighting() == LabelSeen(value=str(number))


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(Refuse(401, "Unauthorized"), id="401"),
        pytest.param(Refuse(403, "Forbidden"), id="403"),
        pytest.param(Refuse(410, "Expired"), id="410"),
        pytest.param(Refuse(500), id="500"),
        pytest.param(Drop(), id="dropped"),
        pytest.param(HalfAnswer(), id="broken off"),
        pytest.param(Garbage(), id="a web page"),
        pytest.param(Garbage(b"{}"), id="an empty object"),
        pytest.param(Garbage(b'{"metadata": {"resourceVersion": "1"}, "items": [7]}'), id="items that are no nodes"),
        pytest.param(
            Garbage(
                b'{"metadata": {"resourceVersion": "1"}, "items": [{"metadata": {"labels": [1]}}],'
                b' "type": "MODIFIED", "object": {"metadata": {"labels": [1]}}}'
            ),
            id="labels that are none",
        ),
    ],
)
@pytest.mark.parametrize("watch", [False, True], ids=["at the list", "at the watch"])
def test_a_fault_is_reported_and_overcome(
    server: ApiServer, tmp_path: Path, fault: Refuse | Drop | HalfAnswer | Garbage, watch: bool
) -> None:
    label(server, "one")
    server.misbehave(fault, watch=watch, times=2)
    watched = Watched(server, tmp_path)
    assert watched.sighting() == LabelSeen(value="one")
    watched.is_open()
    label(server, "two")
    assert watched.sighting() == LabelSeen(value="two")
    watched.stop()
    assert len(watched.troubles) >= 3
    assert watched.troubles[-1] == Following()


def test_an_expired_version_is_read_anew(server: ApiServer, watched: Watched) -> None:
    assert watched.sighting() == NodeGone()
    watched.is_open()
    server.stop()
    label(server, "one")
    server.store.forget_history()
    server.start()
    assert watched.sighting() == LabelSeen(value="one")


@pytest.mark.parametrize(
    ("fault", "asked"),
    [
        pytest.param(Refuse(400, "BadRequest"), "list, watch, list, watch", id="a version that it cannot read"),
        pytest.param(Refuse(504, "Timeout"), "list, watch, list, watch", id="a version that it has not reached"),
        pytest.param(Refuse(410, "Expired"), "list, watch, list, watch", id="a version that it has forgotten"),
        pytest.param(Refuse(429, "TooManyRequests"), "list, watch, watch", id="too much to do"),
        pytest.param(Drop(), "list, watch, watch", id="no answer"),
    ],
)
def test_the_node_is_read_anew_where_the_server_may_not_know_the_version(
    server: ApiServer, tmp_path: Path, fault: Refuse | Drop, asked: str
) -> None:
    server.misbehave(fault, watch=True)
    watched = Watched(server, tmp_path)
    watched.is_open()
    watched.stop()
    assert ", ".join("watch" if request.watch else "list" for request in server.requests) == asked


def test_nothing_is_seen_before_the_first_list_is_answered(server: ApiServer, tmp_path: Path) -> None:
    label(server, "one")
    gate = threading.Event()
    server.misbehave(Hold(gate), watch=False)
    watched = Watched(server, tmp_path)
    server.wait_for(lambda: server.requests)
    label(server, "two")
    gate.set()
    assert watched.sighting() == LabelSeen(value="two")
    watched.stop()


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"", id="without a word"),
        pytest.param(b'{"type": "BOOKMARK", "object": {"metadata": {}}}\n', id="after something was heard"),
    ],
)
def test_a_server_that_ends_every_watch_at_once_is_asked_after_growing_pauses(
    server: ApiServer, tmp_path: Path, body: bytes
) -> None:
    label(server, "one")
    server.misbehave(Garbage(body), watch=True, times=3)
    watched = Watched(server, tmp_path)
    watched.is_open()
    watched.stop()
    label(server, "two")
    assert watched.sighting() == LabelSeen(value="one")
    watched.sort_out()
    assert [trouble for trouble in watched.troubles if isinstance(trouble, Trouble)] == [
        Trouble(problem="The API server ended the watch at once.", pause=pause) for pause in (0.01, 0.02, 0.04)
    ]
    assert [request.watch for request in server.requests] == [False, True, True, True, True]


def test_only_the_one_node_is_asked_for_and_only_its_metadata(server: ApiServer, watched: Watched) -> None:
    watched.is_open()
    assert {(request.path, request.query["fieldSelector"]) for request in server.requests} == {
        ("/api/v1/nodes", "metadata.name=a")
    }
    assert all("as=PartialObjectMetadata" in request.headers["accept"] for request in server.requests)
