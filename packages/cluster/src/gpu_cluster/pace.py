"""How fast requests may be made, and how long to wait after failures. Pure: time and chance are arguments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gpu_cluster.errors import ApiError

LASTING_FIRST, LASTING_LONGEST = 40.0, 10.0
"""How many times longer the first and the longest pause are for what waiting cannot change."""


@dataclass(slots=True, kw_only=True)
class TokenBucket:
    """At most `burst` requests at once and `qps` a second over time; a `qps` of 0 or less means no limit."""

    qps: float
    burst: int
    tokens: float = 0.0
    filled_at: float | None = None

    def take(self, now: float) -> float:
        """Take one token at `now` (seconds of any monotonic clock); return the seconds to wait before using it.

        Tokens may be owed: callers that come at the same time are told to wait one after another.
        """
        if self.qps <= 0:
            return 0.0
        self._fill(now)
        self.tokens -= 1.0
        return 0.0 if self.tokens >= 0 else -self.tokens / self.qps

    def try_take(self, now: float) -> bool:
        """Take one token at `now` if there is one; return whether there was. None is owed."""
        if self.qps > 0:
            self._fill(now)
            if self.tokens < 1.0:
                return False
            self.tokens -= 1.0
        return True

    def _fill(self, now: float) -> None:
        if self.filled_at is None:
            self.tokens = float(max(self.burst, 1))
        else:
            self.tokens = min(float(max(self.burst, 1)), self.tokens + max(0.0, now - self.filled_at) * self.qps)
        self.filled_at = now


@dataclass(slots=True, kw_only=True)
class Backoff:
    """Pauses that double after each failure, with a random share so that a whole cluster does not come back at once.

    What waiting cannot change has longer steps of its own, from half a minute to five: it may be changed while we run,
    and asking costs the API server something. `chance` returns a number from 0 up to 1, as `random.random` does.
    Pauses are seconds.
    """

    chance: Callable[[], float]
    first: float = 0.8
    longest: float = 30.0
    failures: int = 0
    lasting_failures: int = 0

    def after(self, error: Exception) -> float:
        """Count a failure and return how long to wait: at least half the step, and never less than asked for."""
        if not isinstance(error, ApiError):
            return self.next_pause()
        if not error.lasting:
            return self.next_pause(error.retry_after)
        step = min(LASTING_LONGEST * self.longest, LASTING_FIRST * self.first * 2.0 ** min(self.lasting_failures, 30))
        self.lasting_failures += 1
        return self._pause(step, error.retry_after)

    def next_pause(self, retry_after: float | None = None) -> float:
        """Count a failure that passes and return how long to wait, as `after` does."""
        step = min(self.longest, self.first * 2.0 ** min(self.failures, 30))
        self.failures += 1
        return self._pause(step, retry_after)

    def reset(self) -> None:
        """Forget the failures, after a success that lasted."""
        self.failures = 0
        self.lasting_failures = 0

    def _pause(self, step: float, retry_after: float | None) -> float:
        pause = step / 2 + step / 2 * self.chance()
        # A server that asks for time gets it, and the jitter on top: everyone was told the same number.
        return pause if retry_after is None else max(pause, retry_after + pause / 2)
