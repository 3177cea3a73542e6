"""The latest of a sequence of immutable values, which any number of readers may wait for."""

from __future__ import annotations

import threading
from typing import Generic, TypeVar

T = TypeVar("T")


class Published(Generic[T]):
    """Holds the latest value with its version, which starts at 1 and grows with every different value.

    Readers may start late, skip versions and leave; publishing never waits for them. Once closed, nobody waits.
    """

    def __init__(self, value: T) -> None:
        self._condition = threading.Condition()
        self._value = value
        self._version = 1
        self._closed = False

    def publish(self, value: T) -> bool:
        """Make `value` the latest; an equal one changes nothing. Returns whether it was new."""
        with self._condition:
            if self._closed or value == self._value:
                return False
            self._value = value
            self._version += 1
            self._condition.notify_all()
            return True

    def current(self) -> tuple[int, T]:
        """Return the latest version and value."""
        with self._condition:
            return self._version, self._value

    def wait_newer(self, version: int, timeout: float | None = None) -> tuple[int, T] | None:
        """Wait until there is a version after `version` and return the latest; None once closed or timed out."""
        with self._condition:
            self._condition.wait_for(lambda: self._closed or self._version > version, timeout)
            return (self._version, self._value) if self._version > version else None

    def wake(self) -> None:
        """Let waiting readers look at their own state again: their `wait_newer` goes on or times out as before."""
        with self._condition:
            self._condition.notify_all()

    @property
    def closed(self) -> bool:
        """Whether the sequence has ended."""
        with self._condition:
            return self._closed

    def close(self) -> None:
        """End the sequence: waiting readers return, and later values are dropped."""
        with self._condition:
            self._closed = True
            self._condition.notify_all()
