"""`check-config [FILE]`: judge a config file strictly and show where every effective value comes from."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from gpu_core.command.check import Report, check
from gpu_core.command.subcommands import Invocation, Subcommand
from gpu_core.command.tell import tell
from gpu_core.config.file.decode import Parsed, parse_text
from gpu_core.config.file.document import MAX_BYTES
from gpu_core.config.layers import dotted
from gpu_core.config.load import config_file, read_config_file
from gpu_core.config.programs.options import Group, Program, setting
from gpu_core.errors import ConfigError, UsageError
from gpu_core.files import read_open
from gpu_core.health.xids import XidPolicy, policy_text

_STANDARD_INPUT = "-"


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
        group=Group.COMMAND,
        ours=True,
    )


def run(invocation: Invocation) -> int:
    """Print the report on one file and return 0 when it can be used, 1 otherwise."""
    settings: CheckConfigSettings = invocation.own_settings()
    parsed, file = _read(_named(invocation))
    report = check(parsed, invocation.program, invocation.line, invocation.environ)
    tell(as_json(report, file) if settings.format is OutputFormat.JSON else as_text(report, file))
    return 0 if report.usable else 1


def _named(invocation: Invocation) -> str:
    """Return which file is meant: the argument, or else the one that the program itself would read."""
    given = config_file(invocation.program, invocation.line, invocation.environ)
    by_flag = any(option.name == "config-file" for option, _ in invocation.line.texts)
    if invocation.arguments and by_flag:
        raise UsageError("check-config takes one file: give FILE or --config-file, not both.")
    file = invocation.arguments[0] if invocation.arguments else given
    if not file:
        raise UsageError("check-config needs FILE, --config-file or CONFIG_FILE; - is standard input.")
    return file


def _read(file: str) -> tuple[Parsed, str]:
    """Return what is in a file, or in standard input, with what that is called in messages."""
    if file != _STANDARD_INPUT:
        return read_config_file(file)[0], file
    if sys.stdin is None:
        raise ConfigError("Standard input is closed, so no config file can be read from it; open it, or name a file.")
    name = "standard input"
    try:
        data = read_open(sys.stdin.fileno(), most=MAX_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"No config file can be read from {name}: {error.strerror or error}.") from error
    return parse_text(data, name), name


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
        lines += [] if report.xids is None else [policy_text(report.xids)]
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
        "xids": None if report.xids is None else _xids(report.xids),
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _xids(policy: XidPolicy) -> dict[str, Any]:
    return {
        "text": policy_text(policy),
        "ignored": sorted(policy.ignored),
        "ignoredAll": policy.ignored_all,
        "always": sorted(policy.always),
        "alwaysAll": policy.always_all,
    }


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


def check_config(program: Program[Any]) -> Subcommand:
    """Return the subcommand for a program. Who reads a config file itself needs not be told which."""
    return Subcommand(
        name="check-config",
        doc="Check a config file strictly and show every effective value with where it comes from.",
        run=run,
        arguments=("[FILE]" if program.reads_config else "FILE",),
        settings=CheckConfigSettings,
        examples=(
            ("Check a file", "check-config config.yaml"),
            ("The same for another program to read", "check-config config.yaml --format=json"),
            ("What another program writes", "check-config - <config.yaml"),
        ),
    )
