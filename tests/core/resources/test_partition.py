"""The exact search for the set to hand out, against the plain listing of all divisions."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.resources.listing import first_of_the_best
from gpu_core.resources.partition import TooMuchWork, best_set

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


@given(st.one_of(any_scores(), grouped_scores()), st.data())
def test_the_search_finds_the_first_of_the_best_divisions(scores: Scores, data: st.DataObject) -> None:
    size = data.draw(st.integers(1, len(scores)))
    required = data.draw(st.lists(st.integers(0, len(scores) - 1), max_size=min(size, 3), unique=True))
    assert best_set(scores, size, required) == first_of_the_best(scores, size, required)


@pytest.mark.parametrize(
    ("scores", "size", "required", "answer"),
    [
        pytest.param([[0]], 1, (), (0,), id="one GPU is all there is"),
        pytest.param(grouped("aaaa", near=10, far=10), 1, (), (0,), id="of equal GPUs the first is taken"),
        pytest.param(
            grouped("aaaa", near=10, far=10), 2, (2,), (2, 3), id="the first GPUs are divided first, required or not"
        ),
        pytest.param(grouped("abab", near=50, far=10), 2, (), (0, 2), id="a pair on one switch is kept together"),
        pytest.param(grouped("abbb", near=50, far=10), 1, (), (0,), id="single GPUs are all worth the same"),
        pytest.param(grouped("abbba", near=50, far=10), 3, (), (1, 2, 3), id="the leftovers are kept together too"),
        pytest.param(grouped("aabb", near=50, far=10), 4, (), (0, 1, 2, 3), id="all GPUs are one set"),
        pytest.param(grouped("aabb", near=50, far=10), 2, (1, 2), (1, 2), id="what is required wins over what is near"),
        pytest.param(grouped("aabb", near=50, far=10), 3, (0, 3), (0, 1, 3), id="and the rest joins in order"),
    ],
)
def test_the_set_is(scores: Scores, size: int, required: tuple[int, ...], answer: tuple[int, ...]) -> None:
    assert best_set(scores, size, required) == answer


# No two of these twelve GPUs are alike.
UNLIKE = symmetric([[10 * ((a * 5 + b * b) % 7 + 1) for b in range(a)] for a in range(1, 12)])


@pytest.mark.parametrize(
    "steps",
    [pytest.param(700, id="before it begins, for too many sets"), pytest.param(1_000, id="after it has begun")],
)
def test_a_long_search_is_given_up(steps: int) -> None:
    with pytest.raises(TooMuchWork):
        best_set(UNLIKE, 5, (), steps=steps)


def test_a_search_with_steps_to_spare_gives_the_same_answer() -> None:
    assert best_set(UNLIKE, 5, (), steps=100_000) == best_set(UNLIKE, 5, ())
