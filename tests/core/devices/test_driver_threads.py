"""Calls into a driver that come late, or not at all: who waits for them, and for how long."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import pytest

from fakes.patience import PATIENCE
from gpu_core.devices.driver_threads import DriverThreads, StuckCall, by_function, entering
from gpu_core.devices.model import NO_ANSWER, Fault
from gpu_core.errors import Ending

DEADLINE = 0.3


class Driver:
    """A driver in which calls hang until they are let go."""

    def __init__(self) -> None:
        self.free = threading.Event()
        self.entered = threading.Semaphore(0)

    def hang(self) -> str:
        entering("DeviceGetMemoryInfo")
        self.entered.release()
        assert self.free.wait(PATIENCE)
        return "late"


@pytest.fixture
def driver() -> Iterator[Driver]:
    driver = Driver()
    yield driver
    driver.free.set()


LATE = Fault(call="DeviceGetMemoryInfo", code=NO_ANSWER)


def wait_until_free(threads: DriverThreads) -> None:
    end = time.monotonic() + PATIENCE
    while threads.stuck():
        assert time.monotonic() < end
        time.sleep(0.005)


def test_answers_are_given_by_key_and_a_failure_is_raised_where_it_is_waited_for() -> None:
    threads = DriverThreads()
    assert dict(threads.each({"a": lambda: 1, "b": lambda: 2})) == {"a": 1, "b": 2}
    assert (threads.run("a", lambda: "answer"), dict(threads.each({}))) == ("answer", {})
    with pytest.raises(ZeroDivisionError):
        threads.run("a", lambda: 1 // 0)


def test_who_is_late_is_a_fault_that_names_the_call_and_the_others_answer(driver: Driver) -> None:
    threads = DriverThreads(deadline=DEADLINE)
    answers = list(threads.each({"hangs": driver.hang, "works": lambda: "answer"}))
    assert answers == [("works", "answer"), ("hangs", LATE)]
    assert [call.call for call in threads.stuck()] == ["DeviceGetMemoryInfo"]


def test_who_hangs_is_not_asked_again_until_it_has_come_back(driver: Driver) -> None:
    threads = DriverThreads(deadline=DEADLINE)
    assert threads.run("gpu", driver.hang) == LATE
    asked: list[str] = []
    for _ in range(100):
        assert threads.run("gpu", lambda: asked.append("again")) == LATE
    assert (asked, len(threads.stuck())) == ([], 1)
    driver.free.set()
    wait_until_free(threads)
    assert threads.run("gpu", lambda: "answer") == "answer"


def test_many_that_are_slow_answer_at_the_same_time_and_in_time() -> None:
    slow = threading.Barrier(16)

    def answer() -> int:
        # Nobody gets through before all sixteen are in the driver.
        return slow.wait(PATIENCE)

    threads = DriverThreads(deadline=PATIENCE)
    answers = dict(threads.each(dict.fromkeys(range(16), answer)))
    assert sorted(answers.values()) == list(range(16))  # type: ignore[type-var]


def test_a_driver_that_is_quick_needs_one_thread() -> None:
    names = dict(DriverThreads().each(dict.fromkeys(range(64), threading.get_ident)))
    assert len(set(names.values())) == 1


def test_a_deadline_counts_from_the_moment_at_which_a_job_begins(driver: Driver) -> None:
    threads = DriverThreads(deadline=DEADLINE)
    jobs: dict[object, Callable[[], object]] = {number: lambda: time.sleep(0.1) for number in range(8)}
    answers = dict(threads.each({"hangs": driver.hang, **jobs}))
    assert [answers.pop("hangs"), set(answers.values())] == [LATE, {None}]


def test_nobody_waits_any_more_once_the_program_ends(driver: Driver) -> None:
    threads = DriverThreads(deadline=1000.0)
    ended: list[object] = []

    def wait() -> None:
        try:
            ended.append(threads.run("a", driver.hang))
        except Ending as ending:
            ended.append(type(ending))

    waiting = threading.Thread(target=wait)
    waiting.start()
    assert driver.entered.acquire(timeout=PATIENCE)
    threads.abandon()
    waiting.join(PATIENCE)
    assert (ended, threads.abandoned) == ([Ending], True)
    with pytest.raises(Ending):
        threads.run("b", lambda: "never begun")


def test_stuck_calls_are_counted_by_function() -> None:
    calls = [StuckCall(call=call, since=0.0) for call in ("DeviceGetName", "EventSetWait", "DeviceGetName")]
    assert by_function(calls) == [({"call": "DeviceGetName"}, 2.0), ({"call": "EventSetWait"}, 1.0)]


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        (LATE, "nvmlDeviceGetMemoryInfo did not return in time"),
        (Fault(call="cuInit", code=NO_ANSWER), "cuInit did not return in time"),
        (Fault(call="", code=NO_ANSWER), "the driver did not answer in time"),
    ],
)
def test_a_fault_says_which_call_did_not_return(fault: Fault, text: str) -> None:
    assert str(fault) == text


def test_a_job_for_which_the_machine_has_no_thread_is_late_and_the_others_are_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    start, refused = threading.Thread.start, [True]

    def refuse_once(thread: threading.Thread) -> None:
        if refused:
            refused.clear()
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refuse_once)
    threads = DriverThreads()
    assert dict(threads.each({1: lambda: "one", 2: lambda: "two"})) == {1: Fault(call="", code="NO_ANSWER"), 2: "two"}
    assert threads.stuck() == ()
