"""Keeps the node's condition true, from a thread of its own, and touches no other condition."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from gpu_cluster import NODES, ApiError, Backoff, Cluster, ForbiddenError, PatchType
from gpu_core.errors import ClusterError, Ending
from gpu_core.health.book import HealthBook
from gpu_core.health.summary import Condition, changed_at, condition_of, patch, stamp
from gpu_core.runtime.logs import get_logger

HEARTBEAT = 300.0
"""Seconds between two reports of the same condition, so that a reader can tell it from one that was left behind."""

SETTLE = 1.0
"""Seconds after a change in which further ones are waited for: GPUs rarely become unhealthy alone."""

FAREWELL = 1.0
"""Seconds that the end of the program may wait for a report that is under way."""


class ConditionKeeper:
    """Reports from `start` to `stop`. `changed` may be called from any thread.

    A report that failed is made again after a pause that no change shortens: minutes where a permission is missing.
    """

    def __init__(
        self,
        cluster: Cluster,
        *,
        node: str,
        type_: str,
        book: Callable[[], HealthBook],
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        settle: float = SETTLE,
        heartbeat: float = HEARTBEAT,
        backoff: Backoff | None = None,
    ) -> None:
        self._cluster = cluster
        self._node = node
        self._type = type_
        self._book = book
        self._now = now
        self._settle = settle
        self._heartbeat = heartbeat
        self._backoff = Backoff(chance=random.random) if backoff is None else backoff
        self._log = get_logger()
        self._reported: Condition | None = None
        self._since = ""
        self._trouble = ""
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="node-condition", daemon=True)

    def start(self) -> None:
        """Begin."""
        try:
            self._thread.start()
        except RuntimeError as error:
            # The job itself may still be possible.
            self._log.warning("The node's condition is not reported", condition=self._type, reason=str(error))

    def changed(self) -> None:
        """Look again soon."""
        self._wake.set()

    def stop(self) -> None:
        """End; the condition stays as it was reported last."""
        self._stopping.set()
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join(FAREWELL)

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self._report()
            except Ending:
                return
            except ClusterError as error:
                self._failed(error)
                self._stopping.wait(self._backoff.after(error))
            else:
                self._backoff.reset()
                self._trouble = ""
                if self._wake.wait(self._heartbeat):
                    self._stopping.wait(self._settle)
            # What changes from here on is seen by the next report, or wakes after it.
            self._wake.clear()

    def _failed(self, error: ClusterError) -> None:
        if str(error) != self._trouble:
            self._trouble = str(error)
            often = "every few minutes" if isinstance(error, ApiError) and error.lasting else "soon"
            self._log.warning(
                f"The node's condition is not reported; it is tried again {often}",
                condition=self._type,
                reason=self._trouble,
            )

    def _report(self) -> None:
        """Report the condition as it is now. Raises ClusterError."""
        now = self._now()
        condition = condition_of(self._type, self._book())
        if self._reported is None:
            self._since = changed_at(self._type, condition, self._present(), now)
        elif self._reported.status != condition.status:
            self._since = stamp(now)
        body = patch(self._type, condition, since=self._since, now=now)
        self._cluster.patch(NODES, self._node, body, subresource="status", patch_type=PatchType.STRATEGIC)
        self._reported = condition

    def _present(self) -> dict[str, Any]:
        """Return the Node as it is, nothing of it where reading is not permitted."""
        try:
            return self._cluster.get(NODES, self._node)
        except ForbiddenError:
            return {}
