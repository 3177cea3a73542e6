"""What other destinations still hold, taken back once the labels have arrived at the present one.

A destination may hold labels of ours because the configuration was another one, in this process or in one before it
that was killed, or because the cluster had no NodeFeature resource until now. Pure: the clock is an argument.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from gpu_cluster import ForbiddenError
from gpu_core.errors import ClusterError, PublishError
from gpu_feature_discovery.outputs import Part
from gpu_feature_discovery.outputs.later import Later

REACTION = 10.0
"""Seconds in which node-feature-discovery has removed the labels of what was taken back, which may be ours again."""


@dataclass(slots=True, kw_only=True)
class _Held:
    """A destination that may hold labels of ours, for sure where `known`; `free` is when they may be taken back."""

    part: Part
    known: bool
    later: Later
    free: float | None = None

    def due(self) -> float | None:
        """Return when to take them back, None where they belong there."""
        return None if self.free is None else max(self.free, self.later.due or 0.0)


class Leftovers:
    """Keeps account of all destinations. `clock` gives seconds that only grow; `later` makes an account of failures."""

    def __init__(
        self, *, later: Callable[[], Later], clock: Callable[[], float], warn: Callable[[str], object]
    ) -> None:
        self._new_later = later
        self._clock = clock
        self._warn = warn
        self._held: dict[str, _Held] = {}
        self._inherited: Mapping[str, str] = {}

    def expect(self, parts: Iterable[Part]) -> None:
        """Reckon with labels of an earlier process in these; what this process knows of the same places stays true."""
        for part in parts:
            self._hold(part, known=False)

    def published(self, part: Part, labels: Mapping[str, str]) -> None:
        """Note that the labels have arrived: what other destinations hold may go after their time of grace."""
        now = self._clock()
        self._inherited = labels if part.feeds_nfd else {}
        self._hold(part, known=True)
        for place, held in self._held.items():
            if place == part.place:
                held.free = None
            elif held.free is None:
                held.free = now + held.part.grace

    def tend(self) -> bool:
        """Take back what is due; return whether node-feature-discovery takes labels off the node for that."""
        now = self._clock()
        due = [place for place, held in self._held.items() if (at := held.due()) is not None and now >= at]
        reacted = [self._take_back(place, self._held[place]) for place in due]
        return any(reacted)

    def wait(self) -> float | None:
        """Return for how many seconds there is nothing to do, None where nothing is to come."""
        due = [at for held in self._held.values() if (at := held.due()) is not None]
        return max(0.0, min(due) - self._clock()) if due else None

    def withdraw(self) -> None:
        """At the end, take back what must not outlive the program, wherever this process has put it."""
        for held in self._held.values():
            if held.known:
                try:
                    held.part.withdraw()
                except PublishError as error:
                    self._warn(str(error))

    def _hold(self, part: Part, *, known: bool) -> None:
        held = self._held.setdefault(part.place, _Held(part=part, known=known, later=self._new_later()))
        held.part = part
        held.known = held.known or known

    def _take_back(self, place: str, held: _Held) -> bool:
        try:
            found = held.part.take_back(self._inherited, known=held.known)
        except (PublishError, ClusterError) as error:
            # Where nothing may be looked at, nothing need be there; who published there knows better.
            if held.known or not (isinstance(error, ForbiddenError) or type(error) is ClusterError):
                held.later.failed(error, f"Labels that went to {place} before are still there: {error}")
                return False
            found = False
        del self._held[place]
        return found and held.part.feeds_nfd
