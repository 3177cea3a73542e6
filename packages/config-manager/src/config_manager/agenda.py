"""When to look at label and files again. Pure: the clock is an argument."""

from __future__ import annotations

from dataclasses import dataclass

from gpu_core.runtime.pause import Pause

SETTLE = 0.3
"""Changes within so many seconds of the first one are taken together."""

PAUSE = Pause(first=1.0, longest=60.0)
"""Until another look after one that did not put in place what the label asks for."""

REST = 5.0
"""So many seconds at most after a look in vain, changes of files bring no other: what is busy must not keep us so."""


@dataclass(slots=True, kw_only=True)
class Agenda:
    """When the next look is due: never before the label is known, and then when something changes.

    After a look in vain another one comes by itself, later each time. Changes that inotify does not tell are found by
    the watch on the directories, which reports one now and then.
    """

    settle: float = SETTLE
    known: bool = False
    look_at: float | None = None
    failures: int = 0
    rest_until: float | None = None

    def asked(self, now: float) -> None:
        """Note that something else is asked for, by the label or by a person: what failed so far says nothing of it.

        When it is asked for the first time, there is no reason to wait.
        """
        self.failures, self.rest_until = 0, None
        if self.known:
            self.changed(now)
        else:
            self.known = True
            self.look_at = now

    def changed(self, now: float) -> None:
        """Note a change. Later changes do not move the look, so a busy directory cannot put it off for ever."""
        if self.known:
            soon = now + self.settle if self.rest_until is None else max(now + self.settle, self.rest_until)
            self.look_at = soon if self.look_at is None else min(self.look_at, soon)

    def looked(self, now: float, *, failed: bool) -> None:
        """Note that a look is over."""
        if failed:
            self.failures += 1
            pause = PAUSE.after(self.failures - 1)
            self.look_at, self.rest_until = now + pause, now + min(pause, REST)
        else:
            self.failures, self.look_at, self.rest_until = 0, None, None

    def due(self, now: float) -> bool:
        """Whether to look now."""
        return self.look_at is not None and now >= self.look_at


def earliest(now: float, *times: float | None) -> float | None:
    """Return the seconds from `now` until the first of `times`, 0 when it is past, None when there is none."""
    given = [time for time in times if time is not None]
    return max(0.0, min(given) - now) if given else None
