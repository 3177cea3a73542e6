"""Which findings are causes and which only follow from them, so that people begin with the right one. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from device_plugin.doctor.finding import Finding, Level, worst


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """What is wrong by itself, and what would not be wrong without it."""

    cause: Finding
    followers: tuple[Finding, ...] = ()

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All of them, the cause first."""
        return (self.cause, *self.followers)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """What is wrong, the worst first, and what is not, in the order in which it was looked at."""

    wrong: tuple[Group, ...]
    rest: tuple[Finding, ...]

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All findings, in the order in which they are read."""
        return (*(finding for group in self.wrong for finding in group.findings), *self.rest)

    @property
    def first(self) -> Finding | None:
        """What to mend first; None where nothing is wrong."""
        return self.wrong[0].cause if self.wrong else None


def rank(findings: Iterable[Finding]) -> Ranking:
    """Put what follows below its cause, groups with a problem first; otherwise the order stays."""
    findings = tuple(findings)
    wrong = [finding for finding in findings if finding.level in (Level.PROBLEM, Level.WARNING)]
    groups: dict[int, list[Finding]] = {}
    causes = [_cause(place, wrong) for place in range(len(wrong))]
    for place, cause in enumerate(causes):
        groups.setdefault(cause, [])
        if cause != place:
            groups[cause].append(wrong[place])
    made = [Group(cause=wrong[cause], followers=tuple(groups[cause])) for cause in sorted(groups)]
    return Ranking(
        wrong=tuple(sorted(made, key=lambda group: worst(group.findings) is not Level.PROBLEM)),
        rest=tuple(finding for finding in findings if finding.level in (Level.OK, Level.SKIPPED)),
    )


def _cause(place: int, wrong: Sequence[Finding]) -> int:
    """Return the place of what is behind a finding in the end; its own where nothing is, or things go in a circle."""
    seen = [place]
    while (before := _before(seen[-1], wrong)) is not None:
        if before in seen:
            return place
        seen.append(before)
    return seen[-1]


def _before(place: int, wrong: Sequence[Finding]) -> int | None:
    """Return the place of what a finding follows from at once: the first of what may be behind it that is there."""
    for trouble in wrong[place].follows:
        for other, finding in enumerate(wrong):
            if other != place and finding.trouble is trouble:
                return other
    return None
