"""Alive while the main loop turns; ready with reasons."""

from __future__ import annotations

import contextlib

from gpu_core.runtime.probes import Check, Pulse, all_ok, checks_text


class Clock:
    """A clock that a test sets."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_loop_may_wait_for_ever_but_not_work_for_ever() -> None:
    clock = Clock()
    pulse = Pulse(clock, longest=10.0)
    seen = [pulse.check()]
    with pulse.turn():
        clock.now += 10.0
        seen.append(pulse.check())
        clock.now += 1.0
        seen.append(pulse.check())
    clock.now += 3600.0
    seen.append(pulse.check())
    assert [(check.ok, check.reason) for check in seen] == [
        (True, "starting"),
        (True, "at work for 10 s"),
        (False, "one turn has taken 11 s and has not ended; the program is stuck"),
        (True, "turned 3600 s ago, and waits for something to do"),
    ]


def test_a_turn_that_fails_has_ended_too() -> None:
    clock = Clock()
    pulse = Pulse(clock, longest=10.0)
    with contextlib.suppress(ZeroDivisionError), pulse.turn():
        _ = 1 / 0
    clock.now += 60.0
    assert pulse.check().ok


def test_checks_as_text_have_one_line_each() -> None:
    checks = (
        Check(name="kubelet", ok=True, reason="it follows the list"),
        Check(name="driver", ok=False, reason="it does not answer"),
    )
    assert checks_text(checks) == "[+] kubelet: it follows the list\n[-] driver: it does not answer\n"
    assert [all_ok(checks), all_ok(checks[:1]), all_ok(())] == [False, True, True]
