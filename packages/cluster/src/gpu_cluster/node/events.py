"""Posts Events about a Node without ever making the program wait, or end, for them."""

from __future__ import annotations

import random
import threading
import time
import uuid
from collections.abc import Callable
from datetime import UTC, datetime

from gpu_cluster.cluster import Cluster
from gpu_cluster.errors import ApiError, Backoff, ForbiddenError, MissingKindError, NotFoundError
from gpu_cluster.kinds import EVENTS
from gpu_cluster.node.event_book import Due, EventBook
from gpu_cluster.node.event_document import NAMESPACE, News, node_event, repetition
from gpu_core.errors import ClusterError, Ending
from gpu_core.runtime.counters import Counters
from gpu_core.runtime.metrics import EVENTS_DROPPED

FLUSH = 1.5
"""Seconds that the end of a program may wait for Events."""


class NodeEvents:
    """Posts from a thread of its own. `failed` is told why Events wait or are dropped, once for each reason.

    What cannot be posted now is tried again later, after minutes where a permission is missing; Events keep the times
    at which they were told. Of what waits there is a bound, and what is dropped is counted. `clock` gives seconds that
    only grow.
    """

    def __init__(
        self,
        cluster: Cluster,
        *,
        node: str,
        component: str,
        failed: Callable[[str], object],
        counters: Counters,
        backoff: Backoff | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        clock: Callable[[], float] = time.monotonic,
        unique: Callable[[], str] = lambda: uuid.uuid4().hex[:16],
    ) -> None:
        self._cluster = cluster
        self._node = node
        self._component = component
        self._failed = failed
        self._counters = counters
        self._backoff = Backoff(chance=random.random) if backoff is None else backoff
        self._now = now
        self._clock = clock
        self._unique = unique
        self._book = EventBook()
        self._changed = threading.Condition()
        self._closing = False
        self._may_repeat = True
        self._said = ""
        self._thread = threading.Thread(target=self._run, name="node-events", daemon=True)
        try:
            self._thread.start()
        except RuntimeError as error:
            # The job itself may still be possible.
            self._closing = True
            failed(f"Events are not posted: {error}.")

    def post(self, *, warning: bool, reason: str, message: str) -> None:
        """Have an Event posted, or its count grow; returns at once."""
        news = News(warning=warning, reason=reason, message=message)
        with self._changed:
            told = not self._closing and self._book.tell(news, self._now(), self._clock())
            self._changed.notify_all()
        if not told:
            self._counters.add(EVENTS_DROPPED)

    def close(self, timeout: float = FLUSH) -> None:
        """Give what waits `timeout` seconds to be posted; what could not be posted before is not tried again."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        if self._thread.is_alive():
            self._thread.join(timeout)
        with self._changed:
            self._counters.add(EVENTS_DROPPED, self._book.waiting)

    def _run(self) -> None:
        while (due := self._next()) is not None:
            try:
                name = self._send(due)
            except Ending:
                return
            except ClusterError as error:
                if not self._stays(due, error):
                    return
            else:
                self._backoff.reset()
                self._said = ""
                with self._changed:
                    self._book.posted(due, name)

    def _next(self) -> Due | None:
        """Wait for something to post; None at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._closing or self._book.waiting)
            return self._book.next()

    def _send(self, due: Due) -> str:
        """Post an Event, or one more occurrence, and return the Event's name. Raises ClusterError and Ending."""
        if due.name and self._may_repeat and self._repeat(due):
            return due.name
        event = node_event(
            node=self._node, component=self._component, news=due.news, seen=due.seen, unique=self._unique()
        )
        self._cluster.create(EVENTS, event, namespace=NAMESPACE)
        name: str = event["metadata"]["name"]
        return name

    def _repeat(self, due: Due) -> bool:
        """Make the count of an Event grow; return whether that was possible. Raises ClusterError and Ending."""
        try:
            self._cluster.patch(EVENTS, due.name, repetition(due.seen), namespace=NAMESPACE)
        except MissingKindError:
            raise
        except NotFoundError:
            with self._changed:
                self._book.expired(due)
            return False
        except ForbiddenError as error:
            # Who could only create Events before still can.
            self._may_repeat = False
            self._failed(f"{error} What is told again becomes another Event; grant `patch` on events, and restart.")
            return False
        return True

    def _stays(self, due: Due, error: ClusterError) -> bool:
        """Take note of a failure, and wait; return whether to go on."""
        if _is_about_this_one(error):
            self._say(f"{error} The Event is dropped.")
            self._counters.add(EVENTS_DROPPED)
            with self._changed:
                self._book.dropped(due)
            return True
        pause = self._backoff.after(error)
        lasting = isinstance(error, ApiError) and error.lasting
        self._say(f"{error} Events wait, and are tried again {'every few minutes' if lasting else 'soon'}.")
        with self._changed:
            return not self._changed.wait_for(lambda: self._closing, timeout=pause)

    def _say(self, problem: str) -> None:
        if problem != self._said:
            self._said = problem
            self._failed(problem)


def _is_about_this_one(error: ClusterError) -> bool:
    """Whether the server refuses this Event for what it is, while others may be posted."""
    refused = isinstance(error, ApiError) and (error.lasting or error.status == 400)
    return refused and not isinstance(error, ForbiddenError | MissingKindError)
