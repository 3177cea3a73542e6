"""Waits for a call that may hang, and no longer than its deadline or the program's end.

A name that is looked up, a connection that is made, a login program and a server that accepts and stays silent cannot
all be interrupted. So each call runs in a thread of its own, and the waiting ends even where the call does not.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

from gpu_cluster.errors import UnreachableError
from gpu_core.errors import Ending

T = TypeVar("T")

SLICE = 0.1
"""Seconds between two looks at whether the program ends; signals are handled at the latest then, too."""

MOST_HANGING = 8
"""How many calls may hang unattended; while there are so many, no other is begun."""


class BoundedCalls:
    """Runs calls, for any number of threads. `stopped` says whether the program ends, and waits for nothing."""

    def __init__(self, stopped: Callable[[], bool]) -> None:
        self._stopped = stopped
        self._lock = threading.Lock()
        self._hanging = 0

    def run(self, what: str, call: Callable[[], T], *, seconds: float, discard: Callable[[T], object]) -> T:
        """Return what `call` returns, or raise what it raises, within `seconds`.

        Raises UnreachableError when the time is up, and Ending when the program ends before; what the call
        returns after that is given to `discard`. `what` names the call in messages.
        """
        if self._hanging >= MOST_HANGING:
            raise UnreachableError(
                f"{what} is not sent: {self._hanging} requests before it are still without an answer.", status=0
            )
        running = _Call(call, discard)
        deadline = time.monotonic() + seconds
        try:
            threading.Thread(target=running.run, args=(self._ended,), name="api-request", daemon=True).start()
        except RuntimeError as error:
            raise UnreachableError(f"{what} is not sent: the system gives us no thread.", status=0) from error
        while not running.done.wait(SLICE):
            if self._stopped():
                self._leave(running)
                raise Ending
            if time.monotonic() >= deadline:
                self._leave(running)
                raise UnreachableError(
                    f"The API server did not answer {what} within {seconds:.0f} s. Check the network and its load.",
                    status=0,
                )
        return running.result()

    def _leave(self, running: _Call[T]) -> None:
        with self._lock:
            self._hanging += 1
        # It may have come to its end in this moment.
        if running.leave():
            self._ended()

    def _ended(self) -> None:
        with self._lock:
            self._hanging -= 1


class _Call(Generic[T]):
    """A call in a thread, and whether anybody still waits for it."""

    def __init__(self, call: Callable[[], T], discard: Callable[[T], object]) -> None:
        self._call = call
        self._discard = discard
        self._lock = threading.Lock()
        self._left = False
        self._values: list[T] = []
        self._error: BaseException | None = None
        self.done = threading.Event()

    def run(self, ended: Callable[[], object]) -> None:
        """Make the call; tell `ended` when nobody waited for it any more."""
        try:
            value = self._call()
        except BaseException as error:  # noqa: BLE001  raised again where the call is waited for
            self._error = error
        else:
            self._values.append(value)
        with self._lock:
            self.done.set()
            left = self._left
        if left:
            self._throw_away()
            ended()

    def leave(self) -> bool:
        """Wait no longer; return whether the call has ended already."""
        with self._lock:
            self._left = True
            ended = self.done.is_set()
        if ended:
            self._throw_away()
        return ended

    def result(self) -> T:
        """Return what the call returned, or raise what it raised; only after `done`."""
        if self._error is not None:
            raise self._error
        return self._values[0]

    def _throw_away(self) -> None:
        while self._values:
            self._discard(self._values.pop())
