"""Posts Events about a Node without ever making the program wait, or end, for them."""

from __future__ import annotations

import contextlib
import queue
import threading
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from gpu_cluster.cluster import Cluster
from gpu_cluster.errors import ForbiddenError
from gpu_cluster.kinds import EVENTS
from gpu_cluster.node_event import NAMESPACE, node_event
from gpu_core.errors import ClusterError, Ending

MOST_WAITING = 100
"""How many Events wait to be posted; more than that are dropped, as nobody would read them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _News:
    warning: bool
    reason: str
    message: str


class NodeEvents:
    """Posts from a thread of its own. `failed` is told why an Event could not be posted; it is not tried again.

    Without the permission to post, it is told that once, and nothing is posted any more.
    """

    def __init__(
        self,
        cluster: Cluster,
        *,
        node: str,
        component: str,
        failed: Callable[[str], object],
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        unique: Callable[[], str] = lambda: uuid.uuid4().hex[:16],
    ) -> None:
        self._cluster = cluster
        self._node = node
        self._component = component
        self._failed = failed
        self._now = now
        self._unique = unique
        self._forbidden = False
        self._waiting: queue.Queue[_News | None] = queue.Queue(maxsize=MOST_WAITING)
        self._thread = threading.Thread(target=self._run, name="node-events", daemon=True)
        self._thread.start()

    def post(self, *, warning: bool, reason: str, message: str) -> None:
        """Have an Event posted; returns at once."""
        if self._forbidden:
            return
        with contextlib.suppress(queue.Full):
            self._waiting.put_nowait(_News(warning=warning, reason=reason, message=message))

    def close(self, timeout: float = 5.0) -> None:
        """Give what waits `timeout` seconds to be posted."""
        with contextlib.suppress(queue.Full):
            self._waiting.put_nowait(None)
        self._thread.join(timeout)

    def _run(self) -> None:
        while (news := self._waiting.get()) is not None and not self._forbidden:
            event = node_event(
                node=self._node,
                component=self._component,
                warning=news.warning,
                reason=news.reason,
                message=news.message,
                now=self._now(),
                unique=self._unique(),
            )
            try:
                self._cluster.create(EVENTS, event, namespace=NAMESPACE)
            except ForbiddenError as error:
                self._forbidden = True
                self._failed(f"{error} No further Event will be posted.")
            except Ending:
                return
            except ClusterError as error:
                self._failed(str(error))
