"""The set of GPUs to hand out, so that what stays behind is worth the most as well: an exact search.

The free GPUs are divided into sets of the size asked for; what is left over forms one smaller set. The worth of a
division is the sum of its pair scores within sets, and the answer is the best set of the best division. Divisions of
equal worth are ordered as one would list them by hand: the first GPU with the earliest companions first, then the first
of the remaining GPUs, and so on; the places that the smaller set lacks count as last.

Three things make this fast. GPUs that are alike are only counted (`kinds`). Every state, the counts that remain, is
solved once. And sets are tried in order of their regret: how far they stay behind what their GPUs could score at most,
each with its own closest companions. A division is no better than its regrets allow, so the search of a state ends
where the next set alone regrets more than the best division found. An unlimited search asks no state for more, either,
than what would make a better division than the one it has: a state that falls short is left unsolved.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, takewhile

from gpu_core.preference.kinds import Kind, Packing, Scores, kinds_of, number_of_sets, sets_of

_IMPOSSIBLE = -(1 << 60)


class TooMuchWork(Exception):  # noqa: N818 - it is an answer, not a failure.
    """The search would take more steps than it was given."""


def best_set(scores: Scores, size: int, required: Sequence[int], *, steps: int | None = None) -> tuple[int, ...]:
    """Return the positions of the GPUs to hand out, ascending.

    `scores` is symmetric with a zero diagonal, and 0 < size <= len(scores). The set holds every position of `required`.
    Raises TooMuchWork when the search exceeds `steps`, the sets it looks at; None lets it run to its end.
    """
    kinds = kinds_of(scores, required)
    if steps is not None:
        steps -= number_of_sets(kinds, size) + number_of_sets(kinds, len(scores) % size)
        if steps < 0:
            raise TooMuchWork
    return _Search(kinds, scores, size, frozenset(required), steps).answer()


@dataclass(frozen=True, slots=True)
class _State:
    """What remains to be divided: packed counts by kind, into `full` sets and perhaps the short one."""

    counts: int
    full: int
    short: bool

    def without(self, choice: _Choice) -> _State:
        if choice.full:
            return _State(self.counts - choice.counts, self.full - 1, self.short)
        return _State(self.counts - choice.counts, self.full, short=False)


@dataclass(frozen=True, slots=True, order=True)
class _Choice:
    """A set as a place in a division. `order` are its positions, filled up to the full size."""

    order: tuple[int, ...]
    positions: tuple[int, ...]
    counts: int
    worth: int
    full: bool


class _Search:
    """One search; it keeps what it learns about states between its questions.

    Worths are regrets with a minus sign, doubled as each pair has two ends: 0 is the best that could be hoped for.
    """

    def __init__(
        self, kinds: Sequence[Kind], scores: Scores, size: int, required: frozenset[int], steps: int | None
    ) -> None:
        self._kinds = kinds
        self._scores = scores
        self._size = size
        self._required = required
        self._steps = steps
        # Which nodes of many GPUs are solved within a number of steps must not depend on how fast a search is: one with
        # a limit counts the steps of the plain search, and leaves out the cuts that only an unlimited one makes.
        self._cuts = steps is None
        self._packing = Packing(width=max(len(kind.members) for kind in kinds).bit_length() + 1, kinds=len(kinds))
        self._guards, self._bits = self._packing.guards, self._packing.bits
        self._counts = (1 << self._bits) - 1
        self._hopes = [sum(_most(scores[position], size - 1) for position in kind.taken(0, 1)) for kind in kinds]
        self._solved = {0: 0}
        self._missed: dict[int, int] = {}
        full, rest = divmod(len(scores), size)
        self._start = _State(self._packing.packed([len(kind.members) for kind in kinds]), full, rest > 0)
        self._full_sets = self._sets(size, full=True)
        self._short_sets = self._sets(rest, full=False)
        self._best_full = max(sets[0] >> self._bits for sets in self._full_sets if sets)
        self._best_short = max((sets[0] >> self._bits for sets in self._short_sets if sets), default=0)

    def _sets(self, size: int, *, full: bool) -> list[list[int]]:
        """Return every set of a size by the first kind in it, as `sets_of` packs them, the best first."""
        if not size:
            return [[] for _ in self._kinds]
        # GPUs that are required cannot be among the leftovers.
        kinds = self._kinds if full else [Kind(members=()) if kind.together else kind for kind in self._kinds]
        by_first = sets_of(kinds, self._scores, size, self._packing, self._hopes)
        for sets in by_first:
            sets.sort(reverse=True)
            self._solved.update({way & self._counts: way >> self._bits for way in sets})
        return by_first

    def _spend(self, steps: int) -> None:
        if self._steps is not None:
            self._steps -= steps
            if self._steps < 0:
                raise TooMuchWork

    def _best(self, counts: int, full: int, *, short: bool, least: int) -> int:
        """Return the worth of the best division of a state, or just any number below `least` where it is below."""
        solved, missed = self._solved, self._missed
        known = solved.get(counts)
        if known is not None:
            return known
        if not self._cuts:
            least = _IMPOSSIBLE
        if missed.get(counts, least) < least:
            return least - 1
        best, guarded, guards, bits, tried = least - 1, counts | self._guards, self._guards, self._bits, 0
        first = self._packing.first(counts)
        if not full:
            # What remains cannot be the short set: all that can be are solved from the beginning.
            self._spend(len(self._short_sets[first]))
            missed[counts] = best
            return best
        for ways, hoped, full_left, short_left in self._choices(first, full, short=short):
            # Ways are compared by their worth alone: no counts are as large as one more in worth.
            enough = (best - hoped + 1) << bits
            for way in ways:
                if way < enough:
                    break
                tried += 1
                if (guarded - way) & guards == guards:
                    worth, rest = way >> bits, counts - (way & self._counts)
                    left = solved.get(rest)
                    if left is None:
                        left = self._best(rest, full_left, short=short_left, least=best - worth + 1)
                    if worth + left > best:
                        best = worth + left
                        enough = (best - hoped + 1) << bits
        self._spend(tried)
        (solved if best >= least else missed)[counts] = best
        return best

    def _choices(self, first: int, full: int, *, short: bool) -> Iterator[tuple[Sequence[int], int, int, bool]]:
        """Yield the full and the short sets with a first kind that a state of `full` > 0 may be divided into.

        With them come three facts of what each of them leaves: what it may be worth at most, the number of its full
        sets, and whether a short one is to come.
        """
        hoped = (full - 1) * self._best_full + (self._best_short if short else 0)
        yield self._full_sets[first], hoped, full - 1, short
        if short:
            yield self._short_sets[first], full * self._best_full, full, False

    def answer(self) -> tuple[int, ...]:
        """Walk along the first of the best divisions; return its best set, or the one with all that is required."""
        state = self._start
        found: list[tuple[int, ...]] = []
        while state.full:
            choice = self._next_set(state)
            state = state.without(choice)
            if choice.full and self._required <= set(choice.positions):
                found.append(choice.positions)
                if self._required:
                    break
        return max(found, key=self._score)

    def _score(self, positions: Sequence[int]) -> int:
        return sum(self._scores[a][b] for a, b in combinations(positions, 2))

    def _next_set(self, state: _State) -> _Choice:
        """Return the set of the first remaining GPU in the first of the best divisions of a state."""
        target = self._best(state.counts, state.full, short=state.short, least=_IMPOSSIBLE)

        def completes(choice: _Choice) -> bool:
            rest, missing = state.without(choice), target - choice.worth
            return self._best(rest.counts, rest.full, short=rest.short, least=missing) == missing

        return next(filter(completes, sorted(self._candidates(state, target))))

    def _candidates(self, state: _State, target: int) -> Iterator[_Choice]:
        """Yield the sets of the first remaining GPU that may belong to a division of the worth `target`."""
        starts = [
            len(kind.members) - self._packing.count(state.counts, number) for number, kind in enumerate(self._kinds)
        ]
        lead = min(
            (kind.members[start], number)
            for number, (kind, start) in enumerate(zip(self._kinds, starts, strict=True))
            if start < len(kind.members)
        )[1]
        guarded, guards, bits = state.counts | self._guards, self._guards, self._bits
        field = self._packing.packed([0] * lead + [(1 << self._packing.width) - 1])
        for first in range(lead + 1):
            for ways, hoped, full_left, _ in self._choices(first, state.full, short=state.short):
                full = full_left < state.full
                enough = (target - hoped if self._cuts else target) << bits
                for way in takewhile(enough.__le__, ways):
                    if way & field and (guarded - way) & guards == guards:
                        packed = way & self._counts
                        positions = self._positions(packed, starts)
                        missing = (len(self._scores),) * (self._size - len(positions))
                        yield _Choice(positions + missing, positions, packed, way >> bits, full)

    def _positions(self, packed: int, starts: Sequence[int]) -> tuple[int, ...]:
        """Return the earliest remaining GPUs that make up a set."""
        return tuple(
            sorted(
                position
                for number, (kind, start) in enumerate(zip(self._kinds, starts, strict=True))
                for position in kind.taken(start, self._packing.count(packed, number))
            )
        )


def _most(row: Sequence[int], companions: int) -> int:
    """Return what a GPU scores with its closest companions. Its own place counts 0, as no score is less."""
    return sum(sorted(row, reverse=True)[:companions])
