"""A good set of GPUs where an exact search would take too long: around one GPU, then improved by exchange.

The answer scores at least 2/size of what the best set of that size scores. In the best set, the sum over its GPUs of
what each scores with the others counts every pair twice, so one of its GPUs has at least 2/size of the set's score to
itself. The companions chosen here for that GPU, being its closest, score no less, and exchanging GPUs only adds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from gpu_core.preference.kinds import Scores


def close_set(scores: Scores, size: int, required: Sequence[int]) -> tuple[int, ...]:
    """Return the positions of the GPUs to hand out, ascending; every position of `required` is among them.

    Of sets with equal scores the one that is the least attached to the GPUs left behind is taken, then the earliest.
    """
    totals = [sum(row) for row in scores]

    def rank(positions: tuple[int, ...]) -> tuple[int, int, tuple[int, ...]]:
        within = sum(scores[a][b] for a, b in combinations(positions, 2))
        return -within, sum(totals[position] for position in positions), positions

    best = min(map(rank, dict.fromkeys(_around_each(scores, size, required))))
    return _exchanged(scores, list(best[2]), frozenset(required))


def _around_each(scores: Scores, size: int, required: Sequence[int]) -> Iterator[tuple[int, ...]]:
    fixed = frozenset(required)
    for seed, row in enumerate(scores):
        core = fixed | {seed}
        if len(core) <= size:
            others = sorted((-score, position) for position, score in enumerate(row) if position not in core)
            yield tuple(sorted([*core, *(position for _, position in others[: size - len(core)])]))


def _exchanged(scores: Scores, chosen: list[int], fixed: frozenset[int]) -> tuple[int, ...]:
    """Exchange one GPU of the set for one outside as long as the set's score grows; the largest gain first."""
    ties = [sum(row[position] for position in chosen) for row in scores]
    while True:
        members = frozenset(chosen)
        gain, leaving, entering = max(
            (
                (ties[entering] - scores[entering][leaving] - ties[leaving], -leaving, -entering)
                for leaving in sorted(members - fixed)
                for entering in range(len(scores))
                if entering not in members
            ),
            default=(0, 0, 0),
        )
        if gain <= 0:
            return tuple(sorted(chosen))
        chosen.remove(-leaving)
        chosen.append(-entering)
        ties = [tie + row[-entering] - row[-leaving] for tie, row in zip(ties, scores, strict=True)]
