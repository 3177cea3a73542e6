"""Threads that answer calls: as many as there is work for, and given up when it does not end."""

from __future__ import annotations

import threading

import pytest

from gpu_kubelet.workers import Workers


def test_work_is_done_at_the_same_time_up_to_the_most_and_then_in_turn() -> None:
    workers, free, started = Workers(2, name="w"), threading.Event(), threading.Semaphore(0)

    def work(number: int) -> int:
        started.release()
        free.wait()
        return number

    futures = [workers.submit(work, number) for number in range(5)]
    assert all(started.acquire(timeout=20) for _ in range(2))
    assert not started.acquire(blocking=False)
    free.set()
    assert [future.result(timeout=20) for future in futures] == [0, 1, 2, 3, 4]
    workers.shutdown()
    assert workers.join(20)


def test_there_are_never_more_threads_than_asked_for() -> None:
    workers = Workers(3, name="w")
    names = {workers.submit(lambda: threading.current_thread().name).result(timeout=20) for _ in range(50)}
    workers.shutdown()
    assert workers.join(20)
    assert names <= {"w_0", "w_1", "w_2"}


def test_what_work_raises_is_told_and_ends_no_thread() -> None:
    workers = Workers(1, name="w")
    with pytest.raises(ZeroDivisionError):
        workers.submit(lambda: 1 // 0).result(timeout=20)
    assert workers.submit(lambda: 1).result(timeout=20) == 1
    workers.shutdown()
    assert workers.join(20)


def test_work_that_does_not_end_is_given_up_and_no_more_is_taken() -> None:
    workers, free = Workers(1, name="w"), threading.Event()
    stuck = workers.submit(free.wait)
    workers.shutdown()
    assert not workers.join(0.01)
    assert workers.submit(lambda: 1).cancelled()
    free.set()
    assert stuck.result(timeout=20)
    assert workers.join(20)
