"""When daemons that failed are started again."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mps_control_daemon.pace import Pace


def test_a_daemon_is_asked_every_ten_seconds() -> None:
    pace = Pace().started(100)
    assert (pace.is_due(109.9), pace.is_due(110)) == (False, True)
    assert pace.answered(110).due == 120


def test_a_failed_start_is_tried_again_after_30_seconds() -> None:
    assert Pace().start_failed(100).due == 130


def test_pauses_double_up_to_a_minute() -> None:
    pace, pauses = Pace(), []
    for _ in range(9):
        pace = pace.started(0).died(1)
        pauses.append(pace.due - 1)
    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60, 60]


def test_a_long_time_in_order_makes_up_for_former_deaths() -> None:
    pace = Pace().started(0).died(1).started(2).died(3).started(10)
    assert pace.died(309).due == 313
    assert pace.died(310).due == 311


def test_a_daemon_that_hangs_has_missed_three_questions_in_a_row() -> None:
    pace = Pace().started(0).missed(1).missed(2)
    assert not pace.hangs
    assert pace.missed(3).hangs
    assert not pace.answered(3).missed(4).hangs


@given(st.lists(st.sampled_from(["started", "start_failed", "died", "answered", "missed"]), max_size=30))
def test_there_is_always_a_next_step_within_a_minute(history: list[str]) -> None:
    pace = Pace()
    for now, step in enumerate(history):
        pace = getattr(pace, step)(float(now))
        assert 0 < pace.due - now <= 60
