"""When to look at label and files again. Pure: the clock is an argument."""

from __future__ import annotations

from dataclasses import dataclass

SETTLE = 0.3
"""Changes within so many seconds of the first one are taken together."""

TRY_AGAIN = 5.0
"""Pause after a look that did not put in place what the label asks for, in seconds."""


@dataclass(slots=True, kw_only=True)
class Agenda:
    """When the next look is due: never before the label is known, and then when something changes.

    Changes that inotify does not tell are found by the watch on the directories, which reports one now and then.
    """

    settle: float = SETTLE
    known: bool = False
    look_at: float | None = None

    def label_known(self, now: float) -> None:
        """Note that the label is known for the first time: there is no reason to wait."""
        self.known = True
        self.look_at = now

    def changed(self, now: float) -> None:
        """Note a change. Later changes do not move the look, so a busy directory cannot put it off for ever."""
        if self.known:
            soon = now + self.settle
            self.look_at = soon if self.look_at is None else min(self.look_at, soon)

    def looked(self, now: float, *, failed: bool) -> None:
        """Note that a look is over."""
        self.look_at = now + TRY_AGAIN if failed else None

    def due(self, now: float) -> bool:
        """Whether to look now."""
        return self.look_at is not None and now >= self.look_at


def earliest(now: float, *times: float | None) -> float | None:
    """Return the seconds from `now` until the first of `times`, 0 when it is past, None when there is none."""
    given = [time for time in times if time is not None]
    return max(0.0, min(given) - now) if given else None
