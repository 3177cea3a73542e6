"""A command line by the rules of Go's flag package: what was given, in order, without judging values.

One or two dashes, `--flag value` or `--flag=value`; booleans stand alone or take `=value`; reading stops at the first
argument that is no flag, and at `--`.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

from gpu_core.config.programs.options import Option
from gpu_core.config.shape import Form
from gpu_core.errors import UsageError

HELP_NAMES = ("help", "h")
VERSION_NAMES = ("version", "v")


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandLine:
    """A command line taken apart.

    `texts` holds each option's texts in the order given. `rest` is what follows the flags, without a `--`; `stopped`
    tells that such a `--` was there.
    """

    texts: tuple[tuple[Option, tuple[str, ...]], ...] = ()
    rest: tuple[str, ...] = ()
    stopped: bool = False
    help: bool = False
    version: bool = False


def read_flags(options: Sequence[Option], argv: Sequence[str]) -> CommandLine:
    """Take a command line apart. Raises UsageError for what no flag of these options can be."""
    by_name = {name: option for option in options for name in option.names}
    texts: dict[Option, list[str]] = {}
    spellings: dict[Option, str] = {}
    wishes = {"help": False, "version": False}
    rest = list(argv)
    while rest and len(rest[0]) > 1 and rest[0].startswith("-") and rest[0] != "--":
        argument = rest.pop(0)
        name, equals, value = _split(argument)
        wish = "help" if name in HELP_NAMES else "version" if name in VERSION_NAMES else None
        if wish is not None and name not in by_name:
            wishes[wish] = True
            continue
        option = by_name.get(name)
        if option is None:
            raise UsageError(f"{argument.partition('=')[0]} is no flag{_suggestion(name, by_name)}")
        if spellings.setdefault(option, name) != name:
            raise UsageError(f"{dashed(spellings[option])} and {dashed(name)} are the same flag; give only one of them")
        if not equals and option.form is not Form.BOOLEAN:
            if not rest:
                raise UsageError(f"{dashed(name)} needs a value; write {dashed(name)}=VALUE")
            value = rest.pop(0)
        texts.setdefault(option, []).append(value if equals or option.form is not Form.BOOLEAN else "true")
    stopped = bool(rest) and rest[0] == "--"
    return CommandLine(
        texts=tuple((option, tuple(given)) for option, given in texts.items()),
        rest=tuple(rest[1:] if stopped else rest),
        stopped=stopped,
        help=wishes["help"],
        version=wishes["version"],
    )


def dashed(name: str) -> str:
    """Return a flag's name as it is usually written: one letter with one dash, more with two."""
    return f"-{name}" if len(name) == 1 else f"--{name}"


def _split(argument: str) -> tuple[str, bool, str]:
    body = argument[2:] if argument.startswith("--") else argument[1:]
    if body.startswith(("-", "=")):
        raise UsageError(f"{argument!r} is no flag")
    name, equals, value = body.partition("=")
    return name, bool(equals), value


def _suggestion(name: str, by_name: dict[str, Option]) -> str:
    longer = [known for known in by_name if known.startswith(name)]
    close = longer or difflib.get_close_matches(name, by_name, n=1)
    return f"; did you mean {dashed(close[0])}?" if close else "; --help lists them"
