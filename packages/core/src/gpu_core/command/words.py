"""The words on a command line that are neither flags nor arguments of a subcommand. Pure.

The original ignores them, and manifests in use carry some. One that almost is a subcommand is refused all the same: who
types it wants an answer, and would start a second daemon in the place of the one that runs.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpu_core.config.problems import printable, shortened
from gpu_core.config.programs.flags import CommandLine
from gpu_core.errors import UsageError


def refuse_near_miss(word: str, names: Sequence[str]) -> None:
    """Raise UsageError for a word that is one slip away from a subcommand's name, or written in capitals."""
    meant = [name for name in names if is_near(word.lower(), name)]
    if meant:
        raise UsageError(f"{_quoted(word)} is no command; did you mean {' or '.join(meant)}?")


def is_near(word: str, name: str) -> bool:
    """Whether a word has one letter less, more or other than a name, or two of them swapped; also when it is equal."""
    if len(word) == len(name):
        differing = sum(a != b for a, b in zip(word, name, strict=True))
        return differing <= 1 or (differing == 2 and sorted(word) == sorted(name))
    short, long = sorted((word, name), key=len)
    return any(long[:place] + long[place + 1 :] == short for place in range(len(long)))


def ignored_words(line: CommandLine, names: Sequence[str], program: str) -> tuple[str, ...]:
    """Return a warning of what stands on a program's command line and counts for nothing, if anything does."""
    if not line.rest:
        return ()
    first, *behind = line.rest
    commands = f"{', '.join(names[:-1])} and {names[-1]}"
    warning = f"{_quoted(first)} counts for nothing: it is no flag of {program} and no command"
    if line.stopped:
        warning = f"{_quoted(first)} counts for nothing, as does whatever stands behind --"
    elif not behind:
        warning += f"; commands are {commands}"
    else:
        warning += f", so {', '.join(map(_quoted, behind))} behind it counts for nothing either"
        if any(len(word) > 1 and word.startswith("-") for word in behind):
            warning += "; a switch takes its value as in --switch=false"
    return (f"{warning}.",)


def _quoted(word: str) -> str:
    return f"'{printable(shortened(word))}'"
