"""Standard output for what daemons log, without waiting for whoever reads it."""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from collections.abc import Callable

_MOST = 4 << 20
"""Characters that may wait to be read."""


class Output:
    """Writes texts in a thread of its own. When too much waits to be read, what comes is left out, and that is said.

    A pipe whose reader has stopped must not keep daemons from being looked after, and GPUs from getting their compute
    mode back.
    """

    def __init__(self, write: Callable[[bytes], object]) -> None:
        self._write = write
        self._waiting: deque[str] = deque()
        self._size = 0
        self._left_out = 0
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="output", daemon=True)
        self._thread.start()

    def put(self, text: str) -> None:
        """Write whole lines soon, or leave them out; never waits."""
        with self._changed:
            if self._size + len(text) > _MOST:
                self._left_out += text.count("\n")
                return
            if self._left_out:
                text = f"({self._left_out} lines are left out here, as nobody read them)\n{text}"
                self._left_out = 0
            self._waiting.append(text)
            self._size += len(text)
            self._changed.notify_all()

    def flush(self, seconds: float) -> None:
        """Wait at most so long until everything is written."""
        with self._changed:
            self._changed.wait_for(lambda: not self._size, seconds)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting)
                text = self._waiting.popleft()
            # That nobody will ever read it is no reason to stop the daemons.
            with contextlib.suppress(OSError):
                self._write(text.encode())
            with self._changed:
                self._size -= len(text)
                self._changed.notify_all()
