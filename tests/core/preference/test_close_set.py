"""The good set where the best one would take too long."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.preference.listing import best_score, score_of
from core.preference.scores import Scores, any_scores, grouped
from gpu_core.preference.close_set import close_set


@given(any_scores(most=10), st.data())
def test_the_set_scores_at_least_two_by_size_of_the_best(scores: Scores, data: st.DataObject) -> None:
    size = data.draw(st.integers(1, len(scores)))
    required = data.draw(st.lists(st.integers(0, len(scores) - 1), max_size=min(size, 3), unique=True))
    chosen = close_set(scores, size, required)
    assert len(set(chosen)) == size
    assert set(required) <= set(chosen)
    assert list(chosen) == sorted(chosen)
    assert size * score_of(scores, chosen) >= 2 * best_score(scores, size, required)


@pytest.mark.parametrize(
    ("scores", "size", "required", "answer"),
    [
        pytest.param(grouped("abab", near=50, far=10), 2, (), (0, 2), id="the earliest of the closest pairs"),
        pytest.param(
            grouped("aaabb", near=50, far=10), 2, (), (3, 4), id="a pair of its own before part of a larger group"
        ),
        pytest.param(grouped("aaabb", near=50, far=10), 2, (0,), (0, 1), id="unless a GPU of the larger is required"),
        pytest.param(grouped("aabb", near=50, far=10), 2, (0, 2), (0, 2), id="nothing to choose"),
    ],
)
def test_the_set_is(scores: Scores, size: int, required: tuple[int, ...], answer: tuple[int, ...]) -> None:
    assert close_set(scores, size, required) == answer


def test_a_set_around_one_gpu_is_improved_by_exchange() -> None:
    # Around GPU 0 lie 1, 2 and 3, which are far from each other; 4 to 7 are near each other.
    scores = grouped("abcdeeee", near=40, far=10)
    for other in (1, 2, 3):
        scores[0][other] = scores[other][0] = 41
    scores[0][4] = scores[4][0] = 41
    assert score_of(scores, close_set(scores, 4, (0,))) == best_score(scores, 4, (0,))
