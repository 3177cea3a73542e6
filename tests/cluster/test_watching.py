from __future__ import annotations

import threading

import pytest

from fakes.api_faults import Refuse, WatchEnd
from fakes.api_server import ApiServer
from fakes.patience import PATIENCE
from gpu_cluster import NODES, Cluster, ExpiredError, UnreachableError
from gpu_cluster.watching import EventType, WatchEvent, WatchStream, parse_event


def open_watch(cluster: Cluster, server: ApiServer) -> WatchStream:
    stream = cluster.watch(NODES, resource_version=str(server.store.version), field_selector="metadata.name=a")
    server.wait_for(lambda: server.watches)
    return stream


def test_changes_of_the_selected_object_arrive_in_order(cluster: Cluster, server: ApiServer) -> None:
    server.put_node("before")
    stream = open_watch(cluster, server)
    server.put_node("a")
    server.put_node("other")
    server.put_node("a", labels={"x": "1"})
    server.delete_node("a")
    events = iter(stream)
    seen = [next(events) for _ in range(3)]
    assert [(event.type, event.object["metadata"].get("labels")) for event in seen] == [
        (EventType.ADDED, {}),
        (EventType.MODIFIED, {"x": "1"}),
        (EventType.DELETED, {"x": "1"}),
    ]
    stream.close()


def test_a_bookmark_carries_the_version_to_go_on_from(cluster: Cluster, server: ApiServer) -> None:
    stream = open_watch(cluster, server)
    server.put_node("other")
    server.send_bookmarks()
    bookmark = next(iter(stream))
    assert bookmark == WatchEvent(
        type=EventType.BOOKMARK, object={"metadata": {"resourceVersion": str(server.store.version)}}
    )
    assert bookmark.resource_version == str(server.store.version)
    stream.close()


def test_an_orderly_end_ends_the_iteration(cluster: Cluster, server: ApiServer) -> None:
    stream = open_watch(cluster, server)
    server.end_watches()
    assert list(stream) == []


def test_the_server_ends_the_watch_when_the_time_is_up(cluster: Cluster) -> None:
    assert list(cluster.watch(NODES, resource_version="1000", timeout=0.1)) == []


@pytest.mark.parametrize(
    "how", [WatchEnd.DROP, WatchEnd.HALF_CLOSE, WatchEnd.GARBAGE], ids=["dropped", "half-closed", "broken line"]
)
def test_a_broken_watch_is_unreachable(cluster: Cluster, server: ApiServer, how: WatchEnd) -> None:
    stream = open_watch(cluster, server)
    server.end_watches(how)
    with pytest.raises(UnreachableError):
        list(stream)


def test_a_version_too_old_is_expired_inside_the_stream(cluster: Cluster, server: ApiServer) -> None:
    version = str(server.store.version)
    server.store.forget_history()
    with pytest.raises(ExpiredError):
        list(cluster.watch(NODES, resource_version=version))


def test_a_version_too_old_is_expired_at_the_door(cluster: Cluster, server: ApiServer) -> None:
    server.misbehave(Refuse(410, reason="Expired"), watch=True)
    with pytest.raises(ExpiredError):
        cluster.watch(NODES, resource_version="1")


def test_closing_from_another_thread_ends_a_waiting_iteration(cluster: Cluster, server: ApiServer) -> None:
    stream = open_watch(cluster, server)
    seen: list[WatchEvent] = []
    reader = threading.Thread(target=lambda: seen.extend(stream))
    reader.start()
    stream.close()
    reader.join(PATIENCE)
    assert not reader.is_alive()
    assert seen == []
    server.wait_for(lambda: not server.watches)


def test_a_watch_asks_for_bookmarks_and_an_end(cluster: Cluster, server: ApiServer) -> None:
    with cluster.watch(NODES, resource_version="1000", field_selector="metadata.name=a", timeout=240):
        server.wait_for(lambda: server.requests)
    assert dict(server.requests[0].query) == {
        "watch": "true",
        "allowWatchBookmarks": "true",
        "resourceVersion": "1000",
        "timeoutSeconds": "240",
        "fieldSelector": "metadata.name=a",
    }


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("{", id="not JSON"),
        pytest.param("[]", id="not an object"),
        pytest.param("[" * 100_000, id="nested without end"),
        pytest.param('{"type": "ERROR", "object": {"code": Infinity}}', id="an error of no code"),
        pytest.param(
            '{"type": "MODIFIED", "object": {"metadata": {"labels": {"a": 1}}}}', id="a label that is a number"
        ),
        pytest.param('{"type":"SURPRISE","object":{}}', id="an unknown type"),
        pytest.param('{"type":"ADDED"}', id="no object"),
        pytest.param('{"type":"ADDED","object":{"metadata":null}}', id="an object without metadata"),
    ],
)
def test_a_line_that_is_no_event_is_unreachable(line: str) -> None:
    with pytest.raises(UnreachableError):
        parse_event("GET /x", line)
