"""An append-only log of events on which any number of threads can wait."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeVar

from gpu_demo.kubelet.events import Event

E = TypeVar("E", bound=Event)
T = TypeVar("T")

# Long enough for a busy machine; whoever waits in vain has failed anyway.
PATIENCE = 60.0


class EventLog:
    """Events in the order they happened. Positions count from 0, and `position` is where the next one goes."""

    def __init__(self) -> None:
        self._events: list[Event] = []
        self._changed = threading.Condition()

    def append(self, event: Event) -> None:
        """Add an event and wake everyone who waits."""
        with self._changed:
            self._events.append(event)
            self._changed.notify_all()

    @property
    def position(self) -> int:
        """The number of events so far: give it to `wait_for` as `after` to wait only for what is yet to come."""
        with self._changed:
            return len(self._events)

    def events(self, kind: type[E], *, resource: str | None = None, after: int = 0) -> tuple[E, ...]:
        """Return the events of one kind so far, of one resource or of all."""
        with self._changed:
            return self._select(kind, resource, after)

    def wait_for(
        self,
        kind: type[E],
        *,
        resource: str | None = None,
        after: int = 0,
        times: int = 1,
        matching: Callable[[E], bool] = lambda _: True,
        timeout: float = PATIENCE,
    ) -> E:
        """Wait until such an event was there `times` times and return that one.

        Raises TimeoutError, whose message shows the whole log, after `timeout` seconds.
        """

        def found() -> E | None:
            matches = [event for event in self._select(kind, resource, after) if matching(event)]
            return matches[times - 1] if len(matches) >= times else None

        of = f" of {resource}" if resource else ""
        return self._wait(found, f"{kind.__name__}{of}", timeout)

    def wait_until(
        self, condition: Callable[[tuple[Event, ...]], T | None], what: str, *, timeout: float = PATIENCE
    ) -> T:
        """Wait until `condition`, asked again with the whole log after each event, answers other than None."""
        return self._wait(lambda: condition(tuple(self._events)), what, timeout)

    def _select(self, kind: type[E], resource: str | None, after: int) -> tuple[E, ...]:
        return tuple(
            event
            for event in self._events[after:]
            if isinstance(event, kind) and (resource is None or event.resource == resource)
        )

    def _wait(self, condition: Callable[[], T | None], what: str, timeout: float) -> T:
        deadline = time.monotonic() + timeout
        with self._changed:
            while (result := condition()) is None:
                left = deadline - time.monotonic()
                if left <= 0:
                    happened = "".join(f"\n  {event}" for event in self._events) or "\n  nothing"
                    raise TimeoutError(f"Waited {timeout:g} s for {what}. What happened instead:{happened}")
                self._changed.wait(left)
        return result
