"""Threads that answer calls, and never hold up the end of the process."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class Workers(Executor):
    """Runs each piece of work in one of at most `most` threads, which are made as they are needed; `name` names them.

    Python waits at its end for the threads of its own executors, however long these are at work. A call that is stuck,
    in a file system that hangs, say, must not keep a plugin from ending, so these threads are given up instead.
    """

    def __init__(self, most: int, *, name: str) -> None:
        self._most = most
        self._name = name
        self._changed = threading.Condition()
        self._work: deque[Callable[[], None]] = deque()
        self._threads: list[threading.Thread] = []
        self._idle = 0
        self._closed = False

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Have a function called; after `shutdown` what is returned is cancelled instead."""
        future: Future[T] = Future()

        def work() -> None:
            try:
                result = fn(*args, **kwargs)
            except BaseException as error:  # noqa: BLE001  Whoever asks the future gets it.
                future.set_exception(error)
            else:
                future.set_result(result)

        with self._changed:
            if self._closed:
                future.cancel()
                return future
            self._work.append(work)
            if self._idle < len(self._work) and len(self._threads) < self._most:
                thread = threading.Thread(target=self._run, name=f"{self._name}_{len(self._threads)}", daemon=True)
                self._threads.append(thread)
                thread.start()
            self._changed.notify()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ARG002
        """Take no more work; waits for nobody, as `join` does."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def join(self, patience: float) -> bool:
        """Wait after `shutdown` until every thread has ended; tell whether they have within `patience` seconds."""
        deadline = time.monotonic() + patience
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        return not any(thread.is_alive() for thread in self._threads)

    def _run(self) -> None:
        while (work := self._next()) is not None:
            work()

    def _next(self) -> Any:
        with self._changed:
            self._idle += 1
            self._changed.wait_for(lambda: self._work or self._closed)
            self._idle -= 1
            return self._work.popleft() if self._work else None
