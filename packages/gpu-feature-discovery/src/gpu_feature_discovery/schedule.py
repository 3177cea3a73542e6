"""When the node is described again. Pure: the time and the node's traces are arguments."""

from __future__ import annotations

from dataclasses import dataclass

from gpu_core.config.duration import Duration

LOOK = 5.0
"""Seconds between two looks at the traces that devices leave."""


@dataclass(slots=True, kw_only=True)
class Schedule:
    """Passes are `interval` apart, at once after a change of the node, and after a pause where labels did not arrive.

    Times are seconds of any clock that does not go back. An infinite interval leaves only the changes.
    """

    interval: Duration
    due: float | None = 0.0
    seen: bytes = b""

    def reason(self, now: float, traces: bytes, *, asked: tuple[str, ...] = ()) -> str | None:
        """Return why a pass should be made now, None when there is no reason."""
        if asked:
            return ", ".join(asked)
        if self.due is not None and now >= self.due:
            return "it is time"
        return None if traces == self.seen else "the devices have changed"

    def done(self, now: float, traces: bytes, *, retry: float | None) -> None:
        """Note a pass, and in how many seconds to try again if its labels did not arrive.

        That alone counts then: an interval that is shorter would only knock where nobody opens, and one that is longer
        would leave the node without labels.
        """
        self.seen = traces
        regular = None if self.interval.is_infinite else self.interval.period
        pause = regular if retry is None else retry
        self.due = None if pause is None else now + pause

    def hasten(self, at: float) -> None:
        """Make the next pass at that time at the latest."""
        self.due = at if self.due is None else min(self.due, at)

    def wait(self, now: float) -> float:
        """Return for how many seconds there is nothing to do."""
        return LOOK if self.due is None else min(LOOK, max(0.0, self.due - now))
