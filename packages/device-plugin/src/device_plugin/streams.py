"""The open ListAndWatch streams of one resource, and how far each of them has got."""

from __future__ import annotations

import threading
from collections.abc import Callable

MOST = 24
"""How many streams may be open at once. A kubelet has one; each of them occupies a thread."""


class Streams:
    """Counts streams; any thread may use it. `changed` is called, outside any lock, when one opens or ends."""

    def __init__(self, changed: Callable[[], object] = lambda: None) -> None:
        self._changed = changed
        self._condition = threading.Condition()
        self._opened = 0
        self._sent: dict[int, int] = {}
        self._ends: dict[int, Callable[[], object]] = {}

    @property
    def opened(self) -> int:
        """How many streams were ever opened."""
        with self._condition:
            return self._opened

    @property
    def open(self) -> int:
        """How many streams are open now."""
        with self._condition:
            return len(self._sent)

    def begin(self, end: Callable[[], object]) -> int | None:
        """Count a new stream, which `end` ends, and return its number; None when there are too many."""
        with self._condition:
            if len(self._sent) >= MOST:
                return None
            self._opened += 1
            number = self._opened
            self._sent[number] = 0
            self._ends[number] = end
        self._changed()
        return number

    def sent(self, number: int, version: int) -> None:
        """Note that a stream has handed over a version of the list."""
        with self._condition:
            self._sent[number] = version
            self._condition.notify_all()

    def end(self, number: int) -> None:
        """Forget a stream."""
        with self._condition:
            self._sent.pop(number, None)
            self._ends.pop(number, None)
            self._condition.notify_all()
        self._changed()

    def end_all(self) -> None:
        """Let every stream that is open now end; those that open meanwhile stay."""
        with self._condition:
            ends = tuple(self._ends.values())
        for end in ends:
            end()

    def wait_sent(self, version: int, timeout: float) -> bool:
        """Wait until every open stream has handed over this version or a later one; tell whether they have."""
        with self._condition:
            return self._condition.wait_for(lambda: all(sent >= version for sent in self._sent.values()), timeout)
