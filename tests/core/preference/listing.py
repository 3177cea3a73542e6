"""The reference for preferred allocation: list every division of the free GPUs, and take the first of the best.

It is as slow as it is plain, and good for nodes of up to nine GPUs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

Scores = Sequence[Sequence[int]]
Division = list[tuple[int, ...]]


def score_of(scores: Scores, positions: Sequence[int]) -> int:
    return sum(scores[a][b] for a, b in combinations(positions, 2))


def first_of_the_best(scores: Scores, size: int, required: Sequence[int]) -> tuple[int, ...]:
    """Return what `gpu_core.preference.best_set.best_set` has to return."""

    def allowed(part: tuple[int, ...]) -> bool:
        return len(part) == size and set(required) <= set(part)

    divisions = (d for d in _divisions(tuple(range(len(scores))), size, len(scores) % size) if any(map(allowed, d)))
    best = max(divisions, key=lambda division: sum(score_of(scores, part) for part in division))
    return max(filter(allowed, best), key=lambda part: score_of(scores, part))


def best_score(scores: Scores, size: int, required: Sequence[int]) -> int:
    """Return the score of the best set of a size, whatever is left behind."""
    everything = combinations(range(len(scores)), size)
    return max(score_of(scores, part) for part in everything if set(required) <= set(part))


def _divisions(positions: tuple[int, ...], size: int, rest: int) -> Iterator[Division]:
    """Yield every way to divide the positions into sets of `size` and one of `rest`, as one would list them by hand."""
    if not positions:
        yield []
        return
    first, others = positions[0], positions[1:]
    for part in _parts(first, others, size, rest):
        remaining = tuple(position for position in others if position not in part)
        for division in _divisions(remaining, size, rest if len(part) == size else 0):
            yield [part, *division]


def _parts(first: int, others: tuple[int, ...], size: int, rest: int) -> list[tuple[int, ...]]:
    parts = [(first, *more) for more in combinations(others, size - 1)]
    if rest:
        parts += [(first, *more) for more in combinations(others, rest - 1)]
    # The places that the smaller set lacks count as last.
    return sorted(parts, key=lambda part: part + (len(others) + first + 1,) * (size - len(part)))
