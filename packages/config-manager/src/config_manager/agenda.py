"""When to look at label and files again. Pure: the clock is an argument."""

from __future__ import annotations

from dataclasses import dataclass

SETTLE = 0.3
"""Changes within so many seconds of the first one are taken together."""

LOOK_AGAIN = 60.0
"""Pause between two looks when nothing seems to happen, in seconds, in case a change went unnoticed."""

TRY_AGAIN = 5.0
"""Pause after a look whose steps failed on disk, in seconds."""


@dataclass(slots=True, kw_only=True)
class Agenda:
    """When the next look is due; None before the label is known for the first time."""

    settle: float = SETTLE
    look_at: float | None = None

    def label_known(self, now: float) -> None:
        """Note that the label is known for the first time: there is no reason to wait."""
        self.look_at = now

    def changed(self, now: float) -> None:
        """Note a change. Later changes do not move the look, so a busy directory cannot put it off for ever."""
        if self.look_at is not None:
            self.look_at = min(self.look_at, now + self.settle)

    def looked(self, now: float, *, failed: bool) -> None:
        """Note that a look is over."""
        self.look_at = now + (TRY_AGAIN if failed else LOOK_AGAIN)

    def due(self, now: float) -> bool:
        """Whether to look now."""
        return self.look_at is not None and now >= self.look_at


def earliest(now: float, *times: float | None) -> float | None:
    """Return the seconds from `now` until the first of `times`, 0 when it is past, None when there is none."""
    given = [time for time in times if time is not None]
    return max(0.0, min(given) - now) if given else None
