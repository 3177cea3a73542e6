"""The set of GPUs to hand out, so that what stays behind is worth the most as well: an exact search.

The free GPUs are divided into sets of the size asked for; what is left over forms one smaller set. The worth of a
division is the sum of its pair scores within sets, and the answer is the best set of the best division. Divisions of
equal worth are ordered as one would list them by hand: the first GPU with the earliest companions first, then the first
of the remaining GPUs, and so on; the places that the smaller set lacks count as last.

Three things make this fast. GPUs that are alike are only counted (`kinds`). Every state, the counts that remain, is
solved once. And sets are tried in order of their regret: how far they stay behind what their GPUs could score at most,
each with its own closest companions. A division is no better than its regrets allow, so the search of a state ends
where the next set alone regrets more than the best division found.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, combinations

from gpu_core.resources.kinds import Kind, Packing, Scores, kinds_of, number_of_sets, sets_of

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
        self._packing = Packing(width=max(len(kind.members) for kind in kinds).bit_length() + 1, kinds=len(kinds))
        self._guards = self._packing.guards
        self._hopes = [sum(_most(scores[position], size - 1) for position in kind.taken(0, 1)) for kind in kinds]
        self._solved = {0: 0}
        full, rest = divmod(len(scores), size)
        self._start = _State(self._packing.packed([len(kind.members) for kind in kinds]), full, rest > 0)
        self._full_sets = self._sets(size, full=True)
        self._short_sets = self._sets(rest, full=False)
        self._best_full = max(sets[0][0] for sets in self._full_sets if sets)
        self._best_short = max((sets[0][0] for sets in self._short_sets if sets), default=0)

    def _sets(self, size: int, *, full: bool) -> list[list[tuple[int, int]]]:
        """Return (worth, counts) of every set of a size by the first kind in it, the best first."""
        by_first: list[list[tuple[int, int]]] = [[] for _ in self._kinds]
        # GPUs that are required cannot be among the leftovers.
        barred = 0 if full else self._packing.packed([int(bool(kind.together)) for kind in self._kinds])
        for worth, packed in sets_of(self._kinds, self._scores, size, self._packing, self._hopes) if size else ():
            if not packed & barred:
                by_first[self._packing.first(packed)].append((worth, packed))
                self._solved[packed] = worth
        for sets in by_first:
            sets.sort(reverse=True)
        return by_first

    def _spend(self, steps: int) -> None:
        if self._steps is not None:
            self._steps -= steps
            if self._steps < 0:
                raise TooMuchWork

    def _best(self, counts: int, full: int, *, short: bool) -> int:
        """Return the worth of the best division of a state."""
        known = self._solved.get(counts)
        if known is not None:
            return known
        best, guarded, guards, tried = _IMPOSSIBLE, counts | self._guards, self._guards, 0
        first = self._packing.first(counts)
        choices = []
        if full:
            hoped = (full - 1) * self._best_full + (self._best_short if short else 0)
            choices.append((self._full_sets[first], hoped, full - 1, short))
        if short:
            choices.append((self._short_sets[first], full * self._best_full, full, False))
        for sets, hoped, full_left, short_left in choices:
            for worth, packed in sets:
                if worth + hoped <= best:
                    break
                tried += 1
                if (guarded - packed) & guards == guards:
                    best = max(best, worth + self._best(counts - packed, full_left, short=short_left))
        self._spend(tried)
        self._solved[counts] = best
        return best

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
        target = self._best(state.counts, state.full, short=state.short)

        def completes(choice: _Choice) -> bool:
            rest = state.without(choice)
            return choice.worth + self._best(rest.counts, rest.full, short=rest.short) == target

        return next(filter(completes, sorted(self._choices(state, target))))

    def _choices(self, state: _State, target: int) -> Iterator[_Choice]:
        """Yield the sets of the first remaining GPU that may belong to a division of the worth `target`."""
        starts = [
            len(kind.members) - self._packing.count(state.counts, number) for number, kind in enumerate(self._kinds)
        ]
        lead = min(
            (kind.members[start], number)
            for number, (kind, start) in enumerate(zip(self._kinds, starts, strict=True))
            if start < len(kind.members)
        )[1]
        for full, table in ((True, self._full_sets), (False, self._short_sets)):
            for worth, packed in (
                chain.from_iterable(table[: lead + 1]) if (state.full if full else state.short) else ()
            ):
                fits = ((state.counts | self._guards) - packed) & self._guards == self._guards
                if worth >= target and fits and self._packing.count(packed, lead):
                    positions = self._positions(packed, starts)
                    missing = (len(self._scores),) * (self._size - len(positions))
                    yield _Choice(positions + missing, positions, packed, worth, full)

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
