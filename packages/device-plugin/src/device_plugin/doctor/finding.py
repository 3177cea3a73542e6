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


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was looked at: its name, what was seen, what that means, and what to do about it."""

    check: str
    level: Level
    fact: str
    meaning: str = ""
    next_step: str = ""


def ok(check: str, fact: str, meaning: str = "") -> Finding:
    """Return a finding that needs nothing to be done."""
    return Finding(check=check, level=Level.OK, fact=fact, meaning=meaning)


def skipped(check: str, fact: str, next_step: str = "") -> Finding:
    """Return a finding of something that cannot be seen from here."""
    return Finding(check=check, level=Level.SKIPPED, fact=fact, next_step=next_step)


def warning(check: str, fact: str, meaning: str, next_step: str) -> Finding:
    """Return a finding that deserves attention."""
    return Finding(check=check, level=Level.WARNING, fact=fact, meaning=meaning, next_step=next_step)


def problem(check: str, fact: str, meaning: str, next_step: str) -> Finding:
    """Return a finding that keeps GPUs from being used."""
    return Finding(check=check, level=Level.PROBLEM, fact=fact, meaning=meaning, next_step=next_step)


def worst(findings: Iterable[Finding]) -> Level:
    """Return the worst level; OK when nothing was found."""
    return max((finding.level for finding in findings), key=_ORDER.index, default=Level.OK)
