"""Events become actions, a burst at a time."""

import threading

import pytest

from gpu_core.errors import Ending
from gpu_core.runtime.supervise import (
    Actions,
    Event,
    EventQueue,
    Reload,
    Rescan,
    Stop,
    next_actions,
    supervise,
)


@pytest.mark.parametrize(
    ("events", "actions"),
    [
        pytest.param([], Actions(), id="nothing happened"),
        pytest.param(
            [Reload("SIGHUP"), Reload("file"), Reload("SIGHUP")],
            Actions(reload=("SIGHUP", "file")),
            id="reloads are one",
        ),
        pytest.param(
            [Rescan("interval"), Reload("SIGHUP")],
            Actions(reload=("SIGHUP",), rescan=("interval",)),
            id="one of each",
        ),
        pytest.param(
            [Reload("SIGHUP"), Stop("SIGTERM")], Actions(stop=("SIGTERM",)), id="stopping leaves nothing else"
        ),
    ],
)
def test_actions_of_a_burst(events: list[Event], actions: Actions) -> None:
    assert next_actions(events) == actions


def test_the_loop_acts_when_its_time_comes_and_ends_with_stop() -> None:
    events = EventQueue()
    seen: list[Actions] = []

    def act(actions: Actions) -> float | None:
        seen.append(actions)
        if len(seen) == 2:
            events.put(Rescan("interval"))
            events.put(Reload("SIGHUP"))
        if len(seen) == 3:
            events.put(Stop("SIGTERM"))
        return 0.0 if len(seen) < 2 else None

    supervise(events, act)
    assert seen == [
        Actions(),
        Actions(),
        Actions(reload=("SIGHUP",), rescan=("interval",)),
        Actions(stop=("SIGTERM",)),
    ]


def test_an_empty_queue_times_out() -> None:
    assert EventQueue().take(timeout=-1) == ()


def test_whoever_is_told_to_end_while_it_waits_for_something_is_told_once_more_by_the_stop_itself() -> None:
    seen: list[Actions] = []
    waits = threading.Event()
    events = EventQueue(stopping=waits.set)

    def act(actions: Actions) -> float | None:
        seen.append(actions)
        if actions.stop:
            return None
        # A driver, say, that would never answer.
        events.put(Stop("SIGTERM"))
        assert waits.wait(20)
        raise Ending

    supervise(events, act)
    assert seen == [Actions(), Actions(stop=("SIGTERM",))]


def test_nothing_but_a_stop_wakes_up_what_is_waited_for() -> None:
    waits = threading.Event()
    events = EventQueue(stopping=waits.set)
    events.put(Reload("SIGHUP"))
    events.put(Rescan("again"))
    assert not waits.is_set()
    events.put(Stop("SIGTERM"))
    assert waits.is_set()
    assert events.take(0) == (Reload("SIGHUP"), Rescan("again"), Stop("SIGTERM"))


def test_who_waits_for_something_else_may_ask_whether_a_stop_has_come() -> None:
    events = EventQueue()
    told = [events.told_to_end]
    events.put(Reload("SIGHUP"))
    told.append(events.told_to_end)
    events.put(Stop("SIGTERM"))
    events.take(0.0)
    told.append(events.told_to_end)
    assert told == [False, False, True]
