"""What other destinations still hold when the program ends."""

from __future__ import annotations

from collections.abc import Mapping

from fakes.feature_outputs import Clock, later
from gpu_core.errors import PublishError
from gpu_feature_discovery.outputs.leftovers import Leftovers


class Place:
    """A destination that takes labels, and gives them up when it likes."""

    feeds_nfd = False
    grace = 0.0

    def __init__(self, place: str, *, stuck: bool = False) -> None:
        self.place = place
        self.withdrawn = 0
        self._stuck = stuck

    @property
    def parts(self) -> tuple[Place, ...]:
        return (self,)

    @property
    def active(self) -> Place:
        return self

    def publish(self, labels: Mapping[str, str]) -> None:
        """Take labels."""

    def take_back(self, inherited: Mapping[str, str], *, known: bool) -> bool:
        return False

    def withdraw(self) -> None:
        self.withdrawn += 1
        if self._stuck:
            raise PublishError(f"{self.place} cannot be removed.")


def test_at_the_end_a_place_that_gives_nothing_up_is_told_and_keeps_no_other() -> None:
    warnings: list[str] = []
    clock = Clock()
    leftovers = Leftovers(later=lambda: later(clock, warnings), clock=clock, warn=warnings.append)
    never, stuck, last = Place("never used"), Place("the first", stuck=True), Place("the last")
    leftovers.expect([never])
    for place in (stuck, last):
        leftovers.published(place, {})
    leftovers.withdraw()
    assert warnings == ["the first cannot be removed."]
    assert (never.withdrawn, stuck.withdrawn, last.withdrawn) == (0, 1, 1)
