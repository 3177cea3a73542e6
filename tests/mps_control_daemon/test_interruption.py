"""Doing several things at once, and giving up what is waited for."""

from __future__ import annotations

import threading
import time

import pytest

from gpu_core.errors import Ending, MpsError
from mps_control_daemon.interruption import Interruption

LONG = 100.0


def test_jobs_are_done_at_the_same_time_and_failures_are_told_apart() -> None:
    meeting = threading.Barrier(2)

    def fail() -> None:
        meeting.wait(LONG)
        raise MpsError("so it is")

    failures = Interruption().together({"one": lambda: meeting.wait(LONG), "two": fail}, within=LONG)
    assert {name: str(failure) for name, failure in failures.items()} == {"two": "so it is"}


def test_what_hangs_is_left_behind() -> None:
    go = threading.Event()
    failures = Interruption().together({"hangs": go.wait, "does not": lambda: None}, within=0.1)
    go.set()
    assert {name: str(failure) for name, failure in failures.items()} == {
        "hangs": "It has not come to an end within 0.1 s."
    }


def test_a_mistake_in_a_job_is_not_taken_for_a_failure() -> None:
    with pytest.raises(ZeroDivisionError):
        Interruption().together({"one": lambda: 1 // 0}, within=LONG)


def test_waiting_ends_when_the_condition_is_true_or_time_is_up() -> None:
    interruption, now = Interruption(), time.monotonic()
    assert interruption.wait_for(lambda: True, until=now - 1)
    assert not interruption.wait_for(lambda: False, until=now)


def test_being_told_ends_every_wait_until_the_end_has_begun() -> None:
    interruption = Interruption()
    interruption.tell()
    with pytest.raises(Ending):
        interruption.wait_for(lambda: False, until=time.monotonic() + LONG)
    with pytest.raises(Ending):
        interruption.together({"one": lambda: interruption.wait_for(lambda: False, until=LONG)}, within=LONG)
    interruption.begin_end()
    assert not interruption.wait_for(lambda: False, until=time.monotonic())
