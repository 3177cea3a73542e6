"""How probes, failures and time make a GPU unhealthy and healthy."""

from __future__ import annotations

from typing import Any

import pytest

from core.health.books import (
    FIRST,
    GONE,
    HEALTHY,
    MUTE,
    OFF,
    PARTED,
    TWO,
    WATCHED,
    asks_for,
    book_of,
    rules,
    unhealthy,
    xid,
)
from core.resources.building import LOST, node_of, whole_gpu
from gpu_core.config.words import RecoveryMode
from gpu_core.devices.backend import Answer, Probe, RecoveryAction, Watch, Watching
from gpu_core.health import what_helps
from gpu_core.health.book import ACTIONS_THAT_STOP, HealthBook
from gpu_core.health.ledger import Cause, DeviceHealth, Transition


def run(book: HealthBook, *probes: Probe, step: float = 10) -> list[bool]:
    """Probe the first GPU every `step` seconds; return whether it is healthy after each probe."""
    seen = []
    for number, probe in enumerate(probes, 1):
        watching = WATCHED if book.needs_watch(book.gpus[0]) else None
        book, _ = book.after_answer("GPU-0", Answer(watching=watching, probe=probe), 100 + number * step)
        seen.append(book.state(FIRST.uuid).healthy)
    return seen


RESET = asks_for(RecoveryAction.RESET)


@pytest.mark.parametrize(
    ("more", "probes", "healthy"),
    [
        pytest.param(
            {"quiet": 0},
            [RESET, RESET, GONE, HEALTHY],
            [False, False, False, True],
            id="recovery needs the driver's word",
        ),
        pytest.param({"quiet": 20}, [HEALTHY, HEALTHY, HEALTHY], [False, False, True], id="and quiet time"),
        pytest.param(
            {"quiet": 20}, [HEALTHY, GONE, HEALTHY, HEALTHY, HEALTHY], [False] * 4 + [True], id="silence begins it anew"
        ),
        pytest.param(
            {"quiet": 20},
            [HEALTHY, RESET, HEALTHY, HEALTHY, HEALTHY],
            [False] * 4 + [True],
            id="so does a wanted reset",
        ),
        pytest.param(
            {"quiet": 20},
            [HEALTHY, asks_for(RecoveryAction.DRAIN_P2P), HEALTHY, HEALTHY, HEALTHY],
            [False] * 4 + [True],
            id="so does a lesser action",
        ),
        pytest.param(
            {"quiet": 0}, [asks_for(RecoveryAction.UNKNOWN)] * 3, [False] * 3, id="an unknown action keeps unhealthy"
        ),
        pytest.param({"quiet": 0}, [MUTE] * 3, [False] * 3, id="without the driver's field an XID stays until restart"),
        pytest.param(
            {"quiet": 0, "recovery": RecoveryMode.PROBE}, [MUTE], [True], id="unless the answers shall suffice"
        ),
        pytest.param({"quiet": 0, "recovery": RecoveryMode.OFF}, [HEALTHY], [False], id="recovery can be turned off"),
    ],
)
def test_a_gpu_with_an_xid_gets_well(more: dict[str, Any], probes: list[Probe], healthy: list[bool]) -> None:
    book, _ = book_of(TWO, **more).after_event(xid(), 100)
    assert run(book, *probes) == healthy


def test_an_event_during_quiet_time_begins_it_anew() -> None:
    book, _ = book_of(TWO, quiet=20).after_event(xid(), 0)
    book, _ = book.after_probe("GPU-0", HEALTHY, 10)
    book, _ = book.after_event(xid(48), 20)
    book, _ = book.after_probe("GPU-0", HEALTHY, 30)
    assert not book.state(FIRST.uuid).healthy
    book, _ = book.after_probe("GPU-0", HEALTHY, 50)
    assert book.state(FIRST.uuid).healthy


def test_recovery_is_told_with_reason_and_time() -> None:
    book, _ = book_of(TWO, quiet=0).after_event(xid(), 5)
    book, transitions = book.after_probe("GPU-0", HEALTHY, 7)
    reason = "it answers again and the driver asks for no recovery"
    assert transitions == (Transition(uuid="GPU-0", healthy=True, cause=Cause.XID, reason=reason, at=7),)
    assert book.state(FIRST.uuid) == DeviceHealth(healthy=True, reason=reason, since=7)


def test_a_mig_device_gets_well_with_its_gpu() -> None:
    book, _ = book_of(PARTED, quiet=0).after_event(xid(gi=7), 5)
    book, transitions = book.after_probe("GPU-0", HEALTHY, 7)
    assert [(change.uuid, change.healthy) for change in transitions] == [("MIG-0-0", True)]
    assert unhealthy(book, PARTED) == []


@pytest.mark.parametrize(
    ("probes", "healthy"),
    [
        pytest.param([MUTE, HEALTHY], [True, True], id="an answer keeps healthy"),
        pytest.param([GONE], [False], id="no answer makes unhealthy without an event"),
        pytest.param([GONE, MUTE, MUTE, MUTE], [False, False, False, True], id="answers make healthy on any driver"),
        pytest.param([RESET], [False], id="a wanted reset makes unhealthy"),
        pytest.param([asks_for(RecoveryAction.REBOOT)], [False], id="a wanted reboot does"),
        pytest.param([asks_for(RecoveryAction.DRAIN_AND_RESET)], [False], id="a wanted draining does"),
        pytest.param([asks_for(RecoveryAction.BUS_RESET)], [False], id="a wanted reset of the bus does"),
        pytest.param([asks_for(RecoveryAction.SYSTEM_REBOOT)], [False], id="a wanted reboot of the whole system does"),
        pytest.param([RESET, HEALTHY, HEALTHY, HEALTHY], [False, False, False, True], id="until it is done"),
        pytest.param([asks_for(RecoveryAction.DRAIN_P2P)], [True], id="less than that does not"),
        pytest.param([asks_for(RecoveryAction.RECOVER_IMEX_DOMAIN)], [True], id="nor does what is between nodes"),
        pytest.param([asks_for(RecoveryAction.UNKNOWN)], [True], id="nor does a new word of the driver"),
    ],
)
def test_a_probe_makes_unhealthy_and_healthy(probes: list[Probe], healthy: list[bool]) -> None:
    assert run(book_of(TWO, quiet=20), *probes) == healthy


def test_nothing_gets_well_unwatched() -> None:
    book, transitions = book_of(TWO, quiet=0).after_unwatched(LOST, 5)
    assert [change.uuid for change in transitions] == ["GPU-0", "GPU-1"]
    again, repeated = book.after_unwatched(LOST, 6)
    assert (again, repeated) == (book, ())
    book, _ = book.after_probe("GPU-0", HEALTHY, 10)
    assert unhealthy(book, TWO) == ["GPU-0", "GPU-1"]
    book, _ = book.after_watch("GPU-0", WATCHED, 20)
    book, _ = book.after_probe("GPU-0", HEALTHY, 20)
    assert unhealthy(book, TWO) == ["GPU-1"]


def test_a_gpu_that_cannot_be_watched_is_unhealthy() -> None:
    book, _ = book_of(TWO).after_watch("GPU-1", Watching(gpu=LOST), 5)
    assert unhealthy(book, TWO) == ["GPU-1"]
    assert book.state("GPU-1") == DeviceHealth(
        healthy=False,
        reason=f"its health events cannot be received: {LOST}",
        since=5,
        cause="unwatched",
        advice=what_helps.UNWATCHED,
    )


def test_a_gpu_without_events_is_healthy() -> None:
    book, _ = book_of(TWO).after_watch("GPU-1", Watching(gpu=Watch.UNSUPPORTED), 5)
    assert unhealthy(book, TWO) == []


def test_what_the_driver_asks_for_is_known_as_long_as_it_says_so() -> None:
    book = book_of(TWO)
    asked = []
    for moment, probe in enumerate(
        [HEALTHY, asks_for(RecoveryAction.RESET), asks_for(RecoveryAction.DRAIN_P2P), GONE, MUTE]
    ):
        book, _ = book.after_probe("GPU-0", probe, moment)
        asked.append(dict(book.recovery))
    assert asked == [
        {"GPU-0": RecoveryAction.NONE},
        {"GPU-0": RecoveryAction.RESET},
        {"GPU-0": RecoveryAction.DRAIN_P2P},
        {},
        {},
    ]
    assert book.after_probe("GPU-0", MUTE, 9)[0].recovery is book.recovery


def test_what_the_driver_asked_for_a_gpu_that_left_is_forgotten() -> None:
    book, _ = book_of(TWO).after_probe("GPU-0", asks_for(RecoveryAction.RESET), 1)
    gone, _ = book.after_inventory(node_of(whole_gpu(1)), 2)
    lost, _ = book.after_inventory(node_of(whole_gpu(0, faults=(LOST,)), whole_gpu(1)), 2)
    off, _ = book.after_rules(rules(policy=OFF), 2)
    assert [dict(each.recovery) for each in (book, gone, lost, off)] == [{"GPU-0": RecoveryAction.RESET}, {}, {}, {}]


@pytest.mark.parametrize("action", sorted(ACTIONS_THAT_STOP))
def test_a_recovery_that_the_driver_asks_for_comes_with_what_helps(action: RecoveryAction) -> None:
    _, (change,) = book_of(TWO).after_probe("GPU-0", asks_for(action), 1)
    assert (change.reason, change.advice) == (
        f"the driver asks for recovery: {action}",
        what_helps.after_asking(action),
    )


def test_every_recovery_action_has_its_own_words() -> None:
    words = {what_helps.after_asking(action) for action in RecoveryAction}
    # To restart the node is to restart the node, by either name.
    assert len(words) == len(RecoveryAction) - 1
