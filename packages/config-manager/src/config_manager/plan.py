"""What to do about a choice, given what is there: the link, the copy of the last good config, the signal. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """A config that can be used: its name, empty for the empty config, and why it was chosen.

    `target` is what the link should point to, `content` what is in it.
    """

    name: str
    why: str
    target: str
    content: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Keep:
    """There is nothing that can be used; stay with what is. `problem` says why."""

    problem: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What is there: the link's text, None where there is no link; what readers of it get; and what the copy holds."""

    target: str | None
    content: bytes | None
    copy: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Steps in the order in which they are taken; None and False mean to leave that step out."""

    save: bytes | None = None
    target: str | None = None
    signal: bool = False


def plan(aim: Wish | Keep, found: Found, *, used: bytes | None, told: bytes | None, copy: str) -> Plan:
    """Return the steps.

    `used` is the content that was last put in place, None where nothing was yet; `told` is the content that the
    programs are known to use, None where they cannot have read any; `copy` is the copy's path.

    A wish is linked where it is, so that what Kubernetes changes in it is seen at once. When the file behind the
    link goes away or is broken in place, the link moves to the copy: programs that start then find the last good
    config, and those that run have it already, so they are left alone.
    """
    match aim:
        case Wish():
            return Plan(target=None if aim.target == found.target else aim.target, signal=aim.content != told)
        case Keep():
            if used is None or found.content == used:
                return Plan()
            # The link must not move to a copy that is older, or gone.
            return Plan(
                save=None if found.copy == used else used,
                target=None if found.target == copy else copy,
            )
        case _:
            assert_never(aim)
