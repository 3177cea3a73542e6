"""What to do when somebody else keeps changing the link. Pure: the clock is an argument."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from config_manager.agenda import PAUSE

FORGET = 2 * PAUSE.longest
"""A link that stayed as it was put for so many seconds is not contested any more."""


@dataclass(slots=True, kw_only=True)
class Contest:
    """Whether the link stays where it was put. Times are seconds of a monotonic clock.

    A link that somebody changed once is put back at once. One that is changed again and again, as by a second
    config-manager that follows another label, is put back with growing pauses: both would do nothing else otherwise,
    and the programs with them.
    """

    placed: str | None = None
    """What the link was given to point to, None before it was given anything."""

    put_at: float = 0.0
    undone: int = 0
    """How many times in a row somebody else changed it."""

    away: bool = False

    def found(self, target: str | None, now: float, *, wanted: str | None) -> bool:
        """Take note of what the link points to; return whether somebody has changed it since it was put.

        Whoever made it point to what is `wanted` has done no more than we would do now.
        """
        if self.undone and now - self.put_at >= FORGET:
            self.undone = 0
        away = self.placed is not None and target not in (self.placed, wanted)
        if away and not self.away:
            self.undone += 1
        self.away = away
        return away

    def rests(self, now: float) -> bool:
        """Whether the link is away and has to stay so for now."""
        return self.away and self.undone > 1 and now < self.put_at + PAUSE.after(self.undone - 2)

    def put(self, target: str | None, now: float) -> None:
        """Take note that the link points to what it should."""
        if self.away or target != self.placed:
            self.put_at = now
        self.placed, self.away = target, False

    def problem(self, link: Path) -> str:
        """Return what to say while the link is contested, else nothing; it stays the same as long as that lasts."""
        if self.undone < 2:
            return ""
        return (
            f"Something else changes the link {link} again and again. It is put back, later each time. "
            "Let one config-manager alone keep a link, and see what else writes to its directory."
        )
