"""Follows one Node through the Kubernetes API: list, watch, go on after every kind of interruption."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gpu_cluster import NODES, ApiError, Backoff, Cluster, EventType, UnreachableError, WatchEvent, WatchStream
from gpu_core.errors import ClusterError

QUICK_END = 1.0
"""A watch that ends within so many seconds counts as a failure, whatever was heard: the next one may be as short."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelSeen:
    """The Node was read; `value` is its label, None where it does not carry it."""

    value: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeGone:
    """The API server says that there is no such Node."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """The Node cannot be followed for now; another attempt follows after `pause` seconds."""

    problem: str
    pause: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Following:
    """The Node is followed again after a trouble."""


Sighting = LabelSeen | NodeGone
Report = Sighting | Trouble | Following


class NodeWatch:
    """Reports what the API server says about one label of one Node, until it is stopped.

    `report` gets every sighting that differs from the one before, every trouble and its end. A Node that is not
    there is waited for. `run` blocks; `stop` may be called from another thread.
    """

    def __init__(
        self,
        cluster: Cluster,
        *,
        node: str,
        label: str,
        report: Callable[[Report], object],
        backoff: Backoff,
        clock: Callable[[], float],
        watch_timeout: Callable[[], float],
    ) -> None:
        self._cluster = cluster
        self._node = node
        self._label = label
        self._report = report
        self._backoff = backoff
        self._clock = clock
        self._watch_timeout = watch_timeout
        self._stopped = threading.Event()
        self._version: str | None = None
        self._last: Sighting | None = None
        self._stream: WatchStream | None = None
        self._in_trouble = False

    def run(self) -> None:
        """Follow the Node until `stop`. Raises nothing that the API server can cause."""
        while not self._stopped.is_set():
            try:
                if self._version is None:
                    self._list()
                self._follow()
            except ApiError as error:
                if _is_about_the_version(error):
                    # What happened in between is lost, so the Node is read again.
                    self._version = None
                self._pause(error)
            except ClusterError as error:
                self._pause(error)

    def stop(self) -> None:
        """End `run`, also in the middle of a silent watch."""
        self._stopped.set()
        stream = self._stream
        if stream is not None:
            stream.close()

    @property
    def _selector(self) -> str:
        return f"metadata.name={self._node}"

    def _list(self) -> None:
        answer = self._cluster.list(NODES, field_selector=self._selector, metadata_only=True)
        try:
            version: str = answer["metadata"]["resourceVersion"]
            items = answer.get("items") or []
            sighting = LabelSeen(value=self._label_of(items[0])) if items else NodeGone()
        except (KeyError, TypeError, AttributeError) as error:
            raise UnreachableError("The API server's list of nodes cannot be understood.", status=0) from error
        self._version = version
        self._see(sighting)

    def _follow(self) -> None:
        opened = self._clock()
        stream = self._cluster.watch(
            NODES,
            resource_version=self._version or "",
            field_selector=self._selector,
            timeout=self._watch_timeout(),
            metadata_only=True,
        )
        self._stream = stream
        if self._in_trouble:
            self._in_trouble = False
            self._report(Following())
        try:
            with stream:
                # `stop` may have come before the stream was there to be closed.
                if self._stopped.is_set():
                    return
                for event in stream:
                    self._take(event)
        finally:
            self._stream = None
            quick = self._clock() - opened < QUICK_END
            if not quick:
                self._backoff.reset()
        if quick and not self._stopped.is_set():
            raise UnreachableError("The API server ended the watch at once.", status=0)

    def _take(self, event: WatchEvent) -> None:
        match event.type:
            case EventType.ADDED | EventType.MODIFIED:
                self._see(LabelSeen(value=self._label_of(event.object)))
            case EventType.DELETED:
                self._see(NodeGone())
            case EventType.BOOKMARK:
                pass
        if event.resource_version:
            self._version = event.resource_version

    def _label_of(self, node: dict[str, Any]) -> str | None:
        labels = node["metadata"].get("labels") or {}
        if not isinstance(labels, dict):
            raise UnreachableError("The API server's labels of the node cannot be understood.", status=0)
        value: str | None = labels.get(self._label)
        return value

    def _see(self, sighting: Sighting) -> None:
        if sighting != self._last:
            self._last = sighting
            self._report(sighting)

    def _pause(self, error: ClusterError) -> None:
        if self._stopped.is_set():
            return
        self._in_trouble = True
        pause = self._backoff.after(error)
        self._report(Trouble(problem=str(error), pause=pause))
        self._stopped.wait(pause)


def _is_about_the_version(error: ApiError) -> bool:
    """Whether the version to go on from may be why the server refused.

    An expired one says so, but one that a restored or another etcd has never seen is refused in several ways (400,
    500, 504). An answer that did not come, and a plea for patience, say nothing about it.
    """
    return error.status not in (0, 429)
