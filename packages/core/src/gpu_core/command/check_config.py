"""`check-config FILE`: judge a config file strictly and show where every effective value comes from."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from gpu_core.command.subcommands import Invocation, Subcommand
from gpu_core.command.tell import tell
from gpu_core.config.check import Report, check
from gpu_core.config.layers import dotted
from gpu_core.config.load import read_config_file
from gpu_core.config.options import Group, setting


class OutputFormat(StrEnum):
    """How the result is written."""

    TEXT = "text"
    JSON = "json"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckConfigSettings:
    """The flags of check-config."""

    format: OutputFormat = setting(
        "format",
        [],
        "Write the result as text for people or as JSON for programs.",
        default=OutputFormat.TEXT,
        group=Group.OPERATION,
        ours=True,
    )


def run(invocation: Invocation) -> int:
    """Print the report on one file and return 0 when it can be used, 1 otherwise."""
    settings: CheckConfigSettings = invocation.own_settings()
    (file,) = invocation.arguments
    parsed, _ = read_config_file(file)
    report = check(parsed, invocation.program, invocation.line, invocation.environ)
    tell(as_json(report, file) if settings.format is OutputFormat.JSON else as_text(report, file))
    return 0 if report.usable else 1


def as_text(report: Report, file: str) -> str:
    """Return the report for people."""
    lines = [f"error: {problem}" for problem in report.problems.errors]
    lines += [f"warning: {problem}" for problem in report.problems.warnings]
    if report.usable:
        width = max(len(dotted(value.path)) for value in report.values)
        lines += [
            f"{dotted(value.path):{width}}  {json.dumps(value.value, ensure_ascii=False)}  ({value.origin})"
            for value in report.values
        ]
    lines.append(f"{file} is {'valid' if report.usable else 'not valid'}.")
    return "\n".join(lines) + "\n"


def as_json(report: Report, file: str) -> str:
    """Return the report for programs."""
    document: dict[str, Any] = {
        "file": file,
        "valid": report.usable,
        "errors": _problems(report.problems.errors),
        "warnings": _problems(report.problems.warnings),
        "values": {dotted(value.path): {"value": value.value, "origin": str(value.origin)} for value in report.values}
        if report.usable
        else {},
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _problems(problems: Sequence[Any]) -> list[dict[str, Any]]:
    return [
        {
            "where": problem.where,
            "line": problem.position.line if problem.position else None,
            "column": problem.position.column if problem.position else None,
            "message": problem.message,
        }
        for problem in problems
    ]


CHECK_CONFIG = Subcommand(
    name="check-config",
    doc="Check a config file strictly and show every effective value with where it comes from.",
    run=run,
    arguments=("FILE",),
    settings=CheckConfigSettings,
    examples=(
        ("Check a file", "check-config config.yaml"),
        ("The same for another program to read", "check-config config.yaml --format=json"),
    ),
)
