"""A step beside the job itself, which is left out for a while after a failure. Pure: the clock is an argument."""

from __future__ import annotations

from collections.abc import Callable

from gpu_cluster import Backoff


class Later:
    """Says when to try again, and says each reason once while it holds. `clock` gives seconds that only grow."""

    def __init__(self, backoff: Backoff, *, clock: Callable[[], float], warn: Callable[[str], object]) -> None:
        self._backoff = backoff
        self._clock = clock
        self._warn = warn
        self._said = ""
        self._due: float | None = None

    @property
    def due(self) -> float | None:
        """When to try again, by the clock; None where nothing failed."""
        return self._due

    def is_due(self) -> bool:
        """Whether it may be tried now."""
        return self._due is None or self._clock() >= self._due

    def failed(self, error: Exception, message: str) -> None:
        """Note a failure and say so."""
        self._due = self._clock() + self._backoff.after(error)
        if message != self._said:
            self._said = message
            self._warn(message)

    def done(self) -> None:
        """Note a success."""
        self._backoff.reset()
        self._said = ""
        self._due = None
