"""The doctor's findings as text for people and as JSON for programs: causes first, what follows below. Pure."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from textwrap import wrap

from device_plugin.doctor.finding import Finding, Level, worst
from device_plugin.doctor.ranking import Group, Ranking, rank
from gpu_core.command.terminal import Terminal

_WIDEST = 100
_NARROW = 60
"""Below so many columns there is no room for a margin that holds the signs."""

_NARROWEST = 20
_SIGNS = {Level.OK: "ok", Level.SKIPPED: "skipped", Level.WARNING: "WARNING", Level.PROBLEM: "PROBLEM"}
_COLOURS = {Level.OK: "32", Level.SKIPPED: "2", Level.WARNING: "33", Level.PROBLEM: "1;31"}
_BOLD = "1"


def as_text(findings: Sequence[Finding], terminal: Terminal) -> str:
    """Return what is wrong with what follows from it, then what is not, a summary, and what to do first."""
    ranking = rank(findings)
    page = _Page(terminal)
    for group in ranking.wrong:
        page.group(group)
    for finding in ranking.rest:
        page.group(Group(cause=finding))
    page.end(ranking)
    return page.text()


def as_json(findings: Sequence[Finding]) -> str:
    """Return the same as one object: the worst level, all findings, each with the cause it follows from."""
    ranking = rank(findings)
    causes = {id(finding): group.cause for group in ranking.wrong for finding in group.followers}
    document = {
        "worst": worst(findings).value,
        "fixFirst": None if ranking.first is None else _about(ranking.first),
        "findings": [
            {
                "check": finding.examination,
                "level": finding.level.value,
                "fact": finding.fact,
                "meaning": finding.meaning,
                "nextStep": finding.next_step,
                "follows": _about(causes[id(finding)]) if id(finding) in causes else None,
            }
            for finding in ranking.findings
        ],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _about(finding: Finding) -> dict[str, str]:
    return {"check": finding.examination, "fact": finding.fact}


class _Page:
    """Lines that fit a terminal."""

    def __init__(self, terminal: Terminal) -> None:
        self._colours = terminal.colours
        self._width = max(_NARROWEST, min(_WIDEST, terminal.width or _WIDEST))
        self._margin = 10 if self._width >= _NARROW else 2
        self._lines: list[str] = []

    def group(self, group: Group) -> None:
        """Write a finding with what it means and what to do, and below it what follows from it."""
        finding = group.cause
        sign = _SIGNS[finding.level]
        beside = f"{sign:{self._margin - 1}} "
        first, *more = self._wrapped(beside, f"{finding.examination}: {finding.fact}")
        self._lines += [self._coloured(sign, _COLOURS[finding.level]) + first[len(sign) :], *more]
        if finding.meaning:
            self._lines += self._wrapped("", finding.meaning)
        if finding.next_step:
            self._lines += self._wrapped("-> ", finding.next_step)
        if group.followers:
            self._lines += self._wrapped("", "From this follows:")
            for follower in group.followers:
                self._lines += self._wrapped("- ", f"{follower.examination}: {follower.fact}")

    def end(self, ranking: Ranking) -> None:
        """Write how many findings there are of each level, and what to do first."""
        findings = ranking.findings
        counts = Counter(finding.level for finding in findings)
        parts = [f"{counts[level]} {_plural(level, counts[level])}" for level in reversed(Level) if counts[level]]
        following = sum(len(group.followers) for group in ranking.wrong)
        tail = f"; {following} of them {'follows' if following == 1 else 'follow'} from another" if following else ""
        self._lines += ["", *wrap(f"{', '.join(parts)}{tail}.", self._width)]
        if ranking.first is not None:
            title = "Fix this first:"
            first, *more = wrap(
                f"{title} {ranking.first.examination}: {ranking.first.fact} {ranking.first.next_step}".rstrip(),
                self._width,
                break_long_words=False,
                break_on_hyphens=False,
            )
            self._lines += ["", self._coloured(title, _BOLD) + first[len(title) :], *more]

    def text(self) -> str:
        """Return all of it."""
        return "\n".join(self._lines) + "\n"

    def _wrapped(self, first: str, text: str) -> list[str]:
        """Return lines in the margin; `first` stands before the first of them, a sign in the margin itself."""
        margin = " " * self._margin
        in_margin = len(first) >= self._margin
        # Paths and commands stay whole, so that they can be copied.
        return wrap(
            text,
            self._width,
            initial_indent=first if in_margin else margin + first,
            subsequent_indent=margin if in_margin else margin + " " * len(first),
            break_long_words=False,
            break_on_hyphens=False,
        )

    def _coloured(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self._colours else text


def _plural(level: Level, count: int) -> str:
    return level.value if level in (Level.OK, Level.SKIPPED) or count == 1 else f"{level.value}s"
