"""When daemons that failed are started again."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mps_control_daemon.restarts import Restarts


def test_a_daemon_is_asked_every_ten_seconds() -> None:
    restarts = Restarts().started(100)
    assert (restarts.is_due(109.9), restarts.is_due(110)) == (False, True)
    assert restarts.answered(110).due == 120


def test_a_failed_start_is_tried_again_after_30_seconds() -> None:
    assert Restarts().start_failed(100).due == 130


def test_pauses_double_up_to_a_minute() -> None:
    restarts, pauses = Restarts(), []
    for _ in range(9):
        restarts = restarts.started(0).died(1)
        pauses.append(restarts.due - 1)
    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60, 60]


def test_a_long_time_in_order_makes_up_for_former_deaths() -> None:
    restarts = Restarts().started(0).died(1).started(2).died(3).started(10)
    assert restarts.died(309).due == 313
    assert restarts.died(310).due == 311


def test_a_daemon_that_hangs_has_missed_three_questions_in_a_row() -> None:
    restarts = Restarts().started(0).missed(1).missed(2)
    assert not restarts.hangs
    assert restarts.missed(3).hangs
    assert not restarts.answered(3).missed(4).hangs


@given(st.lists(st.sampled_from(["started", "start_failed", "died", "answered", "missed"]), max_size=30))
def test_there_is_always_a_next_step_within_a_minute(history: list[str]) -> None:
    restarts = Restarts()
    for now, step in enumerate(history):
        restarts = getattr(restarts, step)(float(now))
        assert 0 < restarts.due - now <= 60
