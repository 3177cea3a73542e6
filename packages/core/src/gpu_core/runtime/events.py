"""What a long-running program reacts to, as frozen values in one queue."""

from __future__ import annotations

import queue
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reload:
    """The configuration shall be read again. `reason` is for the log."""

    reason: str


@dataclass(frozen=True, slots=True)
class KubeletChanged:
    """The kubelet's socket has appeared, gone, or been replaced."""


@dataclass(frozen=True, slots=True)
class Rescan:
    """The hardware shall be read again. `reason` is for the log."""

    reason: str


@dataclass(frozen=True, slots=True)
class Stop:
    """The program shall end. `reason` is for the log."""

    reason: str


Event = Reload | KubeletChanged | Rescan | Stop


class EventQueue:
    """A queue that any thread, and a signal handler, may put events into.

    `stopping` is called when something tells the program to end, to wake up whatever it waits for.
    """

    def __init__(self, *, stopping: Callable[[], object] = lambda: None) -> None:
        self._stopping = stopping
        # SimpleQueue may be used within a signal handler that interrupts its own put.
        self._queue: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self._told_to_end = False

    def put(self, event: Event) -> None:
        """Add an event; never waits."""
        # A plain flag, which no lock can keep a signal's reader, or a handler, from setting.
        if isinstance(event, Stop):
            self._told_to_end = True
        self._queue.put(event)
        if isinstance(event, Stop):
            self._stopping()

    @property
    def told_to_end(self) -> bool:
        """Whether a Stop was put, taken or not: who waits for something else than events may ask for it."""
        return self._told_to_end

    def take(self, timeout: float | None) -> tuple[Event, ...]:
        """Wait at most `timeout` seconds for an event; return it with all that came meanwhile, in order."""
        try:
            events = [self._queue.get(timeout=None if timeout is None else max(0.0, timeout))]
        except queue.Empty:
            return ()
        while True:
            try:
                events.append(self._queue.get_nowait())
            except queue.Empty:
                return tuple(events)
