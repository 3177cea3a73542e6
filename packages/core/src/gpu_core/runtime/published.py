"""The latest of a sequence of immutable values, which any number of readers may wait for."""

from __future__ import annotations

import threading
from collections.abc import Callable
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

    def wait_newer(
        self, version: int, timeout: float | None = None, *, unless: Callable[[], bool] = lambda: False
    ) -> tuple[int, T] | None:
        """Wait until there is a version after `version` and return the latest.

        None once closed, timed out, or when `unless` says that the reader has gone; it is asked again after `wake`.
        """
        with self._condition:
            self._condition.wait_for(lambda: self._closed or self._version > version or unless(), timeout)
            return (self._version, self._value) if self._version > version and not unless() else None

    def wake(self) -> None:
        """Let every waiting reader ask again whether it has gone."""
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
