"""The one loop of every long-running program: events in, one action at a time out."""

from __future__ import annotations

import contextlib
import queue
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from gpu_core.errors import Ending
from gpu_core.runtime.probes import Pulse


@dataclass(frozen=True, slots=True)
class Reload:
    """The configuration shall be read again. `reason` is for the log."""

    reason: str


@dataclass(frozen=True, slots=True)
class Rescan:
    """The hardware shall be read again. `reason` is for the log."""

    reason: str


@dataclass(frozen=True, slots=True)
class Stop:
    """The program shall end. `reason` is for the log."""

    reason: str


Event = Reload | Rescan | Stop


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Actions:
    """What a program shall do now, in this order; an empty one means that its time has come, with no event.

    Several events of one kind are one action: their reasons are kept, each once. A reload reads the hardware again,
    so it covers a rescan.
    """

    stop: tuple[str, ...] = ()
    reload: tuple[str, ...] = ()
    rescan: tuple[str, ...] = ()


def next_actions(events: Iterable[Event]) -> Actions:
    """Return what a burst of events asks for; what ends the program leaves nothing else to do."""
    events = tuple(events)
    stop = tuple(dict.fromkeys(event.reason for event in events if isinstance(event, Stop)))
    if stop:
        return Actions(stop=stop)
    return Actions(
        reload=tuple(dict.fromkeys(event.reason for event in events if isinstance(event, Reload))),
        rescan=tuple(dict.fromkeys(event.reason for event in events if isinstance(event, Rescan))),
    )


def supervise(
    events: EventQueue,
    act: Callable[[Actions], float | None],
    *,
    first: float | None = 0.0,
    pulse: Pulse | None = None,
) -> None:
    """Call `act` for every burst of events, and when the time that it returned has passed, until a Stop.

    `act` returns after how many seconds it wants to be called at the latest, None for never; `first` is that time
    before the first call. The call with `stop` is the last, and one that raises Ending leaves the rest to it. `pulse`
    hears of every turn.
    """
    wait = first
    while True:
        actions = next_actions(events.take(wait))
        with contextlib.nullcontext() if pulse is None else pulse.turn():
            try:
                wait = act(actions)
            except Ending:
                # What tells us so is in the queue.
                wait = 0.0
        if actions.stop:
            return
