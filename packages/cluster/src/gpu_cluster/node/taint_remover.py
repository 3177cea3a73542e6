"""Takes the start-up taint off the Node once the kubelet can give out its GPUs, from a thread of its own."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable

from gpu_cluster import NODES, ApiError, Backoff, Cluster, ConflictError, UnreachableError
from gpu_cluster.node.taints import NodeTaints
from gpu_core.errors import ClusterError, Ending
from gpu_core.runtime.logs import get_logger

LOOK = 0.5
"""Seconds between two looks at whether the kubelet follows every resource; nothing is asked of anybody for that."""

LATER_LOOK = 5.0
"""The same once the Node has no such taint: it matters only to a Node that is registered anew."""

FAREWELL = 1.0
"""Seconds that the end of the program may wait for a request that is under way."""

CONFLICTS = 5
"""How many times in a row the Node is read anew at once when it has changed; a new Node changes often."""

Served = Callable[[], int | None]
"""Tells that the kubelet follows every resource, by how many registrations there were; None while it does not."""


class TaintRemover:
    """Runs from `start` to `stop`.

    The Node is looked at whenever the kubelet has come to follow every resource: at the start, and again after each
    registration, since a kubelet that registers its Node anew brings the taint along. What fails is tried again after a
    pause: minutes where a permission is missing.
    """

    def __init__(
        self,
        cluster: Cluster,
        *,
        node: str,
        key: str,
        served: Served,
        look: float = LOOK,
        later_look: float = LATER_LOOK,
        backoff: Backoff | None = None,
    ) -> None:
        self._cluster = cluster
        self._node = node
        self._key = key
        self._served = served
        self._look = look
        self._later_look = later_look
        self._backoff = Backoff(chance=random.random) if backoff is None else backoff
        self._log = get_logger()
        self._trouble = ""
        # Up to which registration the Node is known to have no such taint.
        self._done: int | None = None
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="startup-taint", daemon=True)

    def start(self) -> None:
        """Begin."""
        try:
            self._thread.start()
        except RuntimeError as error:
            # The job itself may still be possible.
            self._log.warning("The start-up taint stays on the Node", taint=self._key, reason=str(error))

    def stop(self) -> None:
        """End; a taint that is still there stays."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(FAREWELL)

    def _run(self) -> None:
        pause = 0.0
        while not self._stopping.wait(pause):
            try:
                pause = self._step()
            except Ending:
                return
            except ClusterError as error:
                pause = self._failed(error)

    def _step(self) -> float:
        """Look, and do what there is to do; return in how many seconds to look again. Raises ClusterError, Ending."""
        served = self._served()
        if served is None or served == self._done:
            return self._look if self._done is None else self._later_look
        removed = self._remove(served)
        if removed is None:
            return self._look
        self._backoff.reset()
        self._trouble = ""
        self._say(removed)
        self._done = served
        return self._later_look

    def _remove(self, served: int) -> bool | None:
        """Take the taint off; return whether it was there, None where the time for that has passed.

        Raises ClusterError and Ending.
        """
        for _ in range(CONFLICTS):
            node = NodeTaints.of(self._cluster.get(NODES, self._node))
            if node is None:
                raise UnreachableError(f"What was answered for the Node {self._node} is no Node.", status=0)
            if not node.has(self._key):
                return False
            # The answer may have taken its time, in which the kubelet may have gone.
            if self._stopping.is_set() or self._served() != served:
                return None
            try:
                self._cluster.patch(NODES, self._node, node.without(self._key))
            except ConflictError as error:
                conflict = error
            else:
                return True
        raise conflict

    def _say(self, removed: bool) -> None:
        if removed:
            self._log.info("The kubelet follows every resource; the start-up taint is off the Node", taint=self._key)
        elif self._done is None:
            self._log.info("The Node has no start-up taint of this key; there is nothing to take off", taint=self._key)

    def _failed(self, error: ClusterError) -> float:
        """Say why, once, and return how long to wait."""
        if str(error) != self._trouble:
            self._trouble = str(error)
            often = "every few minutes" if isinstance(error, ApiError) and error.lasting else "soon"
            self._log.warning(
                f"The start-up taint is not taken off the Node; it is tried again {often}",
                taint=self._key,
                reason=self._trouble,
            )
        return self._backoff.after(error)
