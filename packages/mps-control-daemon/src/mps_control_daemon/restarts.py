"""When a control daemon that failed is started again: a pure state, in seconds of one clock that never goes back."""

from __future__ import annotations

from dataclasses import dataclass, replace

from gpu_core.runtime.pause import Pause

START_AGAIN = 30.0
"""Seconds after a start that failed."""

ASK_AGAIN = 10.0
"""Seconds between two health questions."""

MISSES = 3
"""So many unanswered health questions in a row are taken for a daemon that hangs."""

_PAUSE = Pause(first=1.0, longest=60.0)
"""Before a daemon that died is started again."""

_CALM = 300.0
"""A daemon that ran for so many seconds is not blamed for what happened before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Restarts:
    """`due` is when the next step is: a start while the daemon is down, a question while it runs."""

    running_since: float | None = None
    deaths: int = 0
    misses: int = 0
    due: float = 0.0

    def is_due(self, now: float) -> bool:
        """Whether it is time."""
        return now >= self.due

    def started(self, now: float) -> Restarts:
        """Return the restarts of a daemon that was just started."""
        return replace(self, running_since=now, misses=0, due=now + ASK_AGAIN)

    def start_failed(self, now: float) -> Restarts:
        """Return the restarts after a start that failed."""
        return replace(self, running_since=None, misses=0, due=now + START_AGAIN)

    def died(self, now: float) -> Restarts:
        """Return the restarts after a daemon ended by itself, or had to be given up."""
        calm = self.running_since is not None and now - self.running_since >= _CALM
        deaths = 1 if calm else self.deaths + 1
        return Restarts(deaths=deaths, due=now + _PAUSE.after(deaths - 1))

    def answered(self, now: float) -> Restarts:
        """Return the restarts after a good answer."""
        return replace(self, misses=0, due=now + ASK_AGAIN)

    def missed(self, now: float) -> Restarts:
        """Return the restarts after a question without a good answer."""
        return replace(self, misses=self.misses + 1, due=now + ASK_AGAIN)

    @property
    def hangs(self) -> bool:
        """Whether the daemon has missed too many questions."""
        return self.misses >= MISSES
