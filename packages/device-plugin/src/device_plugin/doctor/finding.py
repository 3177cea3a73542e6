"""What the doctor finds, and how bad the whole is. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """How bad a finding is, worst last."""

    SKIPPED = "skipped"
    """It could not be looked at from here; that says nothing about it."""

    OK = "ok"
    WARNING = "warning"
    """GPUs are served, but something will not work as one may expect."""

    PROBLEM = "problem"
    """GPUs are not served, or containers that ask for them fail."""


_ORDER = tuple(Level)


class Trouble(StrEnum):
    """What is wrong, where something else that is wrong may follow from it."""

    NO_GPU = "no GPU on the bus"
    HELD_ELSEWHERE = "a GPU is held by another driver"
    HELD_BY_NOUVEAU = "a GPU is held by nouveau"
    BROKEN_LIBRARY = "a link to the library leads nowhere"
    NO_LIBRARY = "no library"
    NO_KERNEL_DRIVER = "no driver in the kernel"
    VERSIONS_DIFFER = "library and kernel driver differ"
    NO_ANSWER = "the driver does not answer"
    LOST_GPU = "a GPU cannot be read"
    NODES_MISSING = "device nodes are missing"
    NODES_CLOSED = "device nodes may not be opened"
    MIG = "MIG devices cannot be served"
    NOT_ROOT = "we are not root"
    NO_KUBELET = "no kubelet listens"
    NO_RUNTIME = "the runtime has no handler of NVIDIA's"
    NO_MPS = "the MPS daemon is not ready"


DRIVERLESS = (
    Trouble.NO_GPU,
    Trouble.HELD_ELSEWHERE,
    Trouble.NO_LIBRARY,
    Trouble.HELD_BY_NOUVEAU,
    Trouble.NO_KERNEL_DRIVER,
)
"""Why a driver may not be at work, from what explains most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was looked at: its name, what was seen, what that means, and what to do about it.

    `trouble` is what it is, where others may follow from it; `follows` is what would explain it, the first that is
    there.
    """

    examination: str
    level: Level
    fact: str
    meaning: str = ""
    next_step: str = ""
    trouble: Trouble | None = None
    follows: tuple[Trouble, ...] = ()


def ok(examination: str, fact: str, meaning: str = "") -> Finding:
    """Return a finding that needs nothing to be done."""
    return Finding(examination=examination, level=Level.OK, fact=fact, meaning=meaning)


def skipped(examination: str, fact: str, next_step: str = "") -> Finding:
    """Return a finding of something that cannot be seen from here."""
    return Finding(examination=examination, level=Level.SKIPPED, fact=fact, next_step=next_step)


def warning(
    examination: str,
    fact: str,
    meaning: str,
    next_step: str,
    *,
    trouble: Trouble | None = None,
    follows: tuple[Trouble, ...] = (),
) -> Finding:
    """Return a finding that deserves attention."""
    return Finding(
        examination=examination,
        level=Level.WARNING,
        fact=fact,
        meaning=meaning,
        next_step=next_step,
        trouble=trouble,
        follows=follows,
    )


def problem(
    examination: str,
    fact: str,
    meaning: str,
    next_step: str,
    *,
    trouble: Trouble | None = None,
    follows: tuple[Trouble, ...] = (),
) -> Finding:
    """Return a finding that keeps GPUs from being used."""
    return Finding(
        examination=examination,
        level=Level.PROBLEM,
        fact=fact,
        meaning=meaning,
        next_step=next_step,
        trouble=trouble,
        follows=follows,
    )


def worst(findings: Iterable[Finding]) -> Level:
    """Return the worst level; OK when nothing was found."""
    return max((finding.level for finding in findings), key=_ORDER.index, default=Level.OK)
