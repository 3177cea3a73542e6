"""The doctor's findings as text for people and as JSON for programs. Pure."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from textwrap import wrap

from device_plugin.doctor.finding import Finding, Level, worst

_WIDTH = 100
_INDENT = " " * 10
_SIGNS = {Level.OK: "ok", Level.SKIPPED: "skipped", Level.WARNING: "WARNING", Level.PROBLEM: "PROBLEM"}


def as_text(findings: Sequence[Finding]) -> str:
    """Return the findings, each with what it means and what to do, and a summary."""
    lines = [line for finding in findings for line in _lines(finding)]
    counts = Counter(finding.level for finding in findings)
    parts = [f"{counts[level]} {_plural(level, counts[level])}" for level in reversed(Level) if counts[level]]
    return "\n".join([*lines, "", f"{', '.join(parts)}."]) + "\n"


def as_json(findings: Sequence[Finding]) -> str:
    """Return the same as one object: the worst level, and all findings."""
    document = {
        "worst": worst(findings).value,
        "findings": [
            {
                "check": finding.check,
                "level": finding.level.value,
                "fact": finding.fact,
                "meaning": finding.meaning,
                "nextStep": finding.next_step,
            }
            for finding in findings
        ],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _lines(finding: Finding) -> list[str]:
    lines = _wrapped(f"{_SIGNS[finding.level]:9} ", f"{finding.check}: {finding.fact}")
    if finding.meaning:
        lines += _wrapped(_INDENT, finding.meaning)
    if finding.next_step:
        lines += _wrapped(f"{_INDENT}-> ", finding.next_step)
    return lines


def _wrapped(first: str, text: str) -> list[str]:
    # Paths and commands stay whole, so that they can be copied.
    return wrap(
        text,
        _WIDTH,
        initial_indent=first,
        subsequent_indent=" " * len(first),
        break_long_words=False,
        break_on_hyphens=False,
    )


def _plural(level: Level, count: int) -> str:
    return level.value if level in (Level.OK, Level.SKIPPED) or count == 1 else f"{level.value}s"
