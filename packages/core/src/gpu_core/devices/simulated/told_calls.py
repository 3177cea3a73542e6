"""What NVML calls of a simulated node were told to do instead of answering: fail, hang, or take their time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import assert_never

from gpu_core.devices.simulated.commands import ALL, Fail, Hang, Heal, Slow

IsTarget = Callable[[str], bool]
"""Whether a target, as a command names it, is what a call is about."""


@dataclass(slots=True, kw_only=True)
class Held:
    """A call that was begun and does not return yet: for `seconds`, or until it is `freed`."""

    call: str
    target: str
    seconds: float
    freed: bool = False


class ToldCalls:
    """Whoever uses it holds the node's lock. What is used up or can never be reached is not kept."""

    def __init__(self) -> None:
        self._failures: list[Fail] = []
        self._hangs: list[Hang] = []
        self._slow: list[Slow] = []
        self._held: list[Held] = []

    def __len__(self) -> int:
        return len(self._failures) + len(self._hangs) + len(self._slow) + len(self._held)

    def tell(self, command: Fail | Hang | Slow) -> None:
        """Let calls fail, hang or be slow from now on."""
        match command:
            case Fail():
                # The first failure that was told is the one that a call meets; behind one that does not end,
                # another of the same call and target would never have its turn.
                if command.count != 0 and not any(_same(command, known) for known in self._failures if not known.count):
                    self._failures.append(command)
            case Hang():
                if command.count:
                    self._hangs.append(command)
            case Slow():
                self._slow = [known for known in self._slow if not _same(command, known)]
                self._slow.append(command)
            case _:
                assert_never(command)

    def heal(self, command: Heal) -> None:
        """End what a command names; calls that hang by it are free to return."""
        self._failures = [told for told in self._failures if not _heals(command, told)]
        self._hangs = [told for told in self._hangs if not _heals(command, told)]
        self._slow = [told for told in self._slow if not _heals(command, told)]
        for held in self._held:
            held.freed = held.freed or _heals(command, held)

    def code(self, call: str, is_target: IsTarget) -> str | None:
        """Return with which code a call fails now, None when it works; a failure that counts has one less."""
        for place, failure in enumerate(self._failures):
            if failure.call == call and is_target(failure.target):
                if failure.count is not None:
                    left = failure.count - 1
                    self._failures[place : place + 1] = [replace(failure, count=left)] if left else []
                return failure.code
        return None

    def begin(self, call: str, is_target: IsTarget) -> Held | None:
        """Return how a call that begins now is held up, None when it is not; `end` has to follow.

        Calls that hang are counted down in the order in which they were told; being slow comes after them.
        """
        for place, hang in enumerate(self._hangs):
            if hang.call == call and is_target(hang.target):
                left = hang.count - 1
                self._hangs[place : place + 1] = [replace(hang, count=left)] if left else []
                return self._hold(hang)
        for slow in reversed(self._slow):
            if slow.call == call and is_target(slow.target):
                return self._hold(slow)
        return None

    def end(self, held: Held) -> None:
        """Forget a call that returns."""
        self._held = [other for other in self._held if other is not held]

    def _hold(self, told: Hang | Slow) -> Held:
        held = Held(call=told.call, target=told.target, seconds=told.seconds)
        self._held.append(held)
        return held


def _same(one: Fail | Slow, other: Fail | Slow) -> bool:
    return (one.call, one.target) == (other.call, other.target)


def _heals(command: Heal, told: Fail | Hang | Slow | Held) -> bool:
    return command.call in (ALL, told.call) and command.target in (ALL, told.target)
