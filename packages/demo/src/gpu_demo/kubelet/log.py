"""What happens to the kubelet, and an append-only log of it on which any number of threads can wait."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from gpu_demo.kubelet.model import ListedDevice, Options


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happened. `resource` is None where the whole kubelet is concerned."""

    resource: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Started(Event):
    """The kubelet's socket accepts calls."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopped(Event):
    """Every connection is closed; `socket_left` tells that the socket file stayed, as after a crash."""

    socket_left: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Registered(Event):
    """A Register call was accepted; `options` are the ones that it carried."""

    version: str
    endpoint: str
    options: Options


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused(Event):
    """A Register call was answered with an error."""

    version: str
    endpoint: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamOpened(Event):
    """ListAndWatch was called; `options` are what GetDevicePluginOptions had answered before."""

    options: Options


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed(Event):
    """A list arrived on the resource's stream."""

    devices: tuple[ListedDevice, ...]

    @property
    def health(self) -> dict[str, str]:
        """The health word of every device by its id."""
        return {device.id: device.health for device in self.devices}


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamEnded(Event):
    """The resource's stream is over; `reason` says who ended it."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DialFailed(Event):
    """A plugin whose registration was answered already could not be dialled."""

    endpoint: str
    reason: str


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
