"""How fast requests may be made. Pure: time is an argument."""

from __future__ import annotations

from dataclasses import dataclass


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
