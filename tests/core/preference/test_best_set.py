"""The exact search for the set to hand out, against the plain listing of all divisions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.preference.listing import first_of_the_best
from core.preference.scores import Scores, any_scores, grouped, grouped_scores, symmetric
from gpu_core.preference.best_set import TooMuchWork, best_set


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
