"""Calls that may hang: what comes of them, and what does not wait for them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from gpu_cluster import UnreachableError
from gpu_cluster.bounded_calls import MOST_HANGING, BoundedCalls
from gpu_core.errors import Ending


def never() -> bool:
    return False


def run(calls: BoundedCalls, call: Callable[[], int], *, seconds: float = 60.0) -> int:
    return calls.run("GET /x", call, seconds=seconds, discard=lambda _value: None)


def wait_for(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_call_gives_its_value_or_its_error() -> None:
    calls = BoundedCalls(never)
    assert run(calls, lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        run(calls, lambda: 1 // 0)


def test_a_call_that_is_late_is_left_and_what_it_gives_then_is_thrown_away() -> None:
    gate, thrown = threading.Event(), list[int]()

    def late() -> int:
        gate.wait(60)
        return 7

    with pytest.raises(UnreachableError) as caught:
        BoundedCalls(never).run("GET /x", late, seconds=0.0, discard=thrown.append)
    assert str(caught.value) == ("The API server did not answer GET /x within 0 s. Check the network and its load.")
    assert thrown == []
    gate.set()
    wait_for(lambda: thrown == [7])


def test_the_end_of_the_program_is_not_kept_waiting() -> None:
    gate = threading.Event()
    with pytest.raises(Ending):
        # Longer than a test may take, so that whoever waits for it does not pass.
        run(BoundedCalls(lambda: True), lambda: int(gate.wait(600)))
    gate.set()


def test_so_many_calls_may_hang_and_no_more_are_begun_until_one_has_ended() -> None:
    gate, calls = threading.Event(), BoundedCalls(never)
    for _ in range(MOST_HANGING):
        with pytest.raises(UnreachableError, match="did not answer"):
            run(calls, lambda: int(gate.wait(60)), seconds=0.0)
    with pytest.raises(UnreachableError, match="8 requests before it are still without an answer"):
        run(calls, lambda: 7)
    gate.set()

    def again() -> bool:
        try:
            return run(calls, lambda: 7) == 7
        except UnreachableError:
            return False

    wait_for(again)
