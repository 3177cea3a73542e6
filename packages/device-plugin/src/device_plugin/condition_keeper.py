"""Keeps the node's condition true, from a thread of its own, and touches no other condition."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from device_plugin.node_condition import Condition, changed_at, judge, patch, stamp
from gpu_cluster import NODES, Cluster, ForbiddenError, PatchType
from gpu_core.errors import ClusterError, Ending
from gpu_core.resources.health import HealthBook
from gpu_core.runtime.logs import get_logger

HEARTBEAT = 300.0
"""Seconds between two reports of the same condition, so that a reader can tell it from one that was left behind."""

SETTLE = 1.0
"""Seconds after a change in which further ones are waited for: GPUs rarely fall ill alone."""

RETRY = 30.0
"""Seconds after a report that failed."""


class ConditionKeeper:
    """Reports from `start` to `stop`. `changed` may be called from any thread. Without permission it falls silent."""

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
        retry: float = RETRY,
    ) -> None:
        self._cluster = cluster
        self._node = node
        self._type = type_
        self._book = book
        self._now = now
        self._settle = settle
        self._heartbeat = heartbeat
        self._retry = retry
        self._log = get_logger()
        self._reported: Condition | None = None
        self._since = ""
        self._trouble = ""
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="node-condition", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def changed(self) -> None:
        """Look again soon."""
        self._wake.set()

    def stop(self) -> None:
        """End; the condition stays as it was reported last."""
        self._stopping.set()
        self._wake.set()
        self._thread.join(self._settle + 5.0)

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self._report()
            except Ending:
                return
            except ForbiddenError as error:
                self._log.warning("The node's condition is not reported", condition=self._type, reason=str(error))
                return
            except ClusterError as error:
                if str(error) != self._trouble:
                    self._trouble = str(error)
                    self._log.warning("The node's condition could not be reported; trying again", reason=self._trouble)
                pause = self._retry
            else:
                self._trouble = ""
                pause = self._heartbeat
            if self._wake.wait(pause):
                self._stopping.wait(self._settle)
            self._wake.clear()

    def _report(self) -> None:
        """Report the condition as it is now. Raises ClusterError."""
        now = self._now()
        condition = judge(self._type, self._book())
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
