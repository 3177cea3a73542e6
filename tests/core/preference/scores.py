"""Matrices of pair scores: by hand, in groups, and drawn by Hypothesis."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

Scores = list[list[int]]


def symmetric(values: Sequence[Sequence[int]]) -> Scores:
    """Mirror the rows of a lower triangle."""
    size = len(values) + 1
    return [[0 if a == b else values[max(a, b) - 1][min(a, b)] for b in range(size)] for a in range(size)]


def grouped(groups: str, *, near: int, far: int) -> Scores:
    return [
        [0 if a == b else near if one == other else far for b, other in enumerate(groups)]
        for a, one in enumerate(groups)
    ]


@st.composite
def any_scores(draw: st.DrawFn, most: int = 8) -> Scores:
    count = draw(st.integers(1, most))
    words = draw(st.sampled_from([(10,), (10, 20), (10, 20, 110), (10, 20, 30, 40, 50, 60, 110, 210, 1210)]))
    return symmetric([[draw(st.sampled_from(words)) for _ in range(row + 1)] for row in range(count - 1)])


@st.composite
def grouped_scores(draw: st.DrawFn, most: int = 9) -> Scores:
    groups = draw(st.lists(st.integers(0, 2), min_size=1, max_size=most))
    boards = draw(st.lists(st.integers(0, 1), min_size=len(groups), max_size=len(groups)))
    return [
        [
            0 if a == b else 10 + 20 * (groups[a] == groups[b]) + 100 * (boards[a] == boards[b])
            for b in range(len(groups))
        ]
        for a in range(len(groups))
    ]
