"""How long to wait before another try: pauses that double. Pure: time and chance are arguments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

# Powers of two beyond this would change nothing.
_DOUBLINGS = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """How long to wait before another try, in seconds: `first`, then twice as long each time, `longest` at most."""

    first: float
    longest: float

    def after(self, tries: int) -> float:
        """Return the pause after that many tries before this one."""
        return min(self.first * 2.0 ** min(tries, _DOUBLINGS), self.longest)


@dataclass(slots=True, kw_only=True)
class Retry:
    """Counts failures in a row, and says how long to wait after each.

    With a `chance`, which returns a number from 0 up to 1 as `random.random` does, half of each pause is random, so
    that a whole cluster does not come back at once.
    """

    pause: Pause
    chance: Callable[[], float] | None = None
    failures: int = 0

    def failed(self, retry_after: float | None = None) -> float:
        """Count a failure and return the seconds until the next try, never less than `retry_after`."""
        step = self.pause.after(self.failures)
        self.failures += 1
        pause = step if self.chance is None else step / 2 + step / 2 * self.chance()
        # A server that asks for time gets it, and the jitter on top: everyone was told the same number.
        return pause if retry_after is None else max(pause, retry_after + pause / 2)

    def succeeded(self) -> None:
        """Forget the failures, after a success that lasted."""
        self.failures = 0
