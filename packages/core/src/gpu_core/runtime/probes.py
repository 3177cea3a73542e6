"""What a program says when it is asked whether it lives, and whether it does its work. Pure.

Alive is a program whose main loop turns. Ready is one whose work is done at present; each thing that this takes is a
`Check` with a reason, so that whoever reads the answer knows what is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

LONGEST_TURN = 120.0
"""Seconds that one turn of a main loop may take before the program counts as stuck.

A driver that hangs, or sixteen GPUs whose links are read, take many seconds, and a restart would not help either.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that a program needs to be ready: its name, whether it is there, and a reason in words.

    `concern` tells that somebody should look at it though the program does its work.
    """

    name: str
    ok: bool
    reason: str
    concern: bool = False


Checks = Callable[[], tuple[Check, ...]]


class Pulse:
    """Whether a main loop turns: it may wait as long as it likes, but not work for too long.

    The loop works inside `turn`; any thread may ask. `clock` gives seconds and never goes back.
    """

    def __init__(self, clock: Callable[[], float], *, longest: float = LONGEST_TURN) -> None:
        self._clock = clock
        self._longest = longest
        self._busy_since: float | None = None
        self._turned: float | None = None

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Mark the work of one turn."""
        self._busy_since = self._clock()
        try:
            yield
        finally:
            self._turned = self._clock()
            self._busy_since = None

    def check(self) -> Check:
        """Say whether the loop turns."""
        now = self._clock()
        busy, turned = self._busy_since, self._turned
        if busy is not None:
            took = now - busy
            if took > self._longest:
                reason = f"one turn has taken {took:.0f} s and has not ended; the program is stuck"
                return Check(name="main loop", ok=False, reason=reason)
            return Check(name="main loop", ok=True, reason=f"at work for {took:.0f} s")
        if turned is None:
            return Check(name="main loop", ok=True, reason="starting")
        return Check(
            name="main loop", ok=True, reason=f"turned {now - turned:.0f} s ago, and waits for something to do"
        )


def all_ok(checks: Iterable[Check]) -> bool:
    """Whether nothing is missing."""
    return all(check.ok for check in checks)


def checks_text(checks: Iterable[Check]) -> str:
    """Return one line for each check, as the API server's own health endpoints write them."""
    return "".join(f"[{'+' if check.ok else '-'}] {check.name}: {check.reason}\n" for check in checks)
