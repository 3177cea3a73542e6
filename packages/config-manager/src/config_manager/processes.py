"""Whether a process is the program with a certain name, and serves. Pure.

A Go program's argv[0] is its name. A Python program's argv[0] is the interpreter and the name is the script's, or
nothing but the kernel's short name (comm) is left when the program has set its own title.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from gpu_core.config.layers import key_path
from gpu_core.config.programs.flags import read_flags
from gpu_core.config.programs.given import flag_layer
from gpu_core.config.reference import PROGRAMS
from gpu_core.errors import UsageError

COMM_LENGTH = 15
"""Length to which the kernel cuts a process's short name."""

_INTERPRETER = re.compile(r"(python|pypy)[0-9.]*t?|(ba|da|a|z)?sh|perl|ruby|node", re.ASCII)

_OPTIONS_WITH_A_VALUE = frozenset({"-W", "-X", "--check-hash-based-pycs"})
_OPTIONS_WITHOUT_A_SCRIPT = frozenset({"-c", "-m", "-e"})

_ONESHOT = (key_path("flags.gfd.oneshot"), ("--oneshot",))
_COMPLETION = ("--show-completion", "--install-completion")


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """What /proc says about a process. `argv` is empty for kernel threads and for the dead not yet waited for."""

    pid: int
    argv: tuple[str, ...]
    comm: str


def runs(process: Process, program: str) -> bool:
    """Return whether `process` is `program`, a bare name or a path of which the last part counts, and serves.

    One of our own programs that only answers a question, as `nvidia-device-plugin status` does, ends by itself: a
    signal means nothing to it but its end.
    """
    if not process.argv:
        return False
    wanted = _base(program)
    first, script = _base(process.argv[0]), _script(process.argv)
    if process.argv[0] == program or wanted == first:
        return not _only_answers(wanted, process.argv[1:])
    if script is not None and wanted == _base(process.argv[script]):
        return not _only_answers(wanted, process.argv[script + 1 :])
    if process.comm != wanted[:COMM_LENGTH]:
        return False
    # A cut name stands for several programs; one that is known to have another name is not ours.
    names = [first] if script is None else [first, _base(process.argv[script])]
    return len(wanted) <= COMM_LENGTH or not any(name.startswith(process.comm) for name in names)


def select(processes: Sequence[Process], programs: Sequence[str], *, own_pid: int) -> tuple[int, ...]:
    """Return the ids of every process that runs one of `programs`, in order, never our own."""
    return tuple(
        sorted(
            process.pid
            for process in processes
            if process.pid != own_pid and any(runs(process, program) for program in programs)
        )
    )


def _only_answers(name: str, arguments: Sequence[str]) -> bool:
    """Whether a program of ours with that command line does one thing and ends."""
    program = next((program for program in PROGRAMS if name in program.commands), None)
    if program is None or not arguments:
        return False
    if arguments[0] in _COMPLETION:
        return True
    try:
        line = read_flags(program.options, arguments)
    except UsageError:
        # It may be the original, which knows flags that ours does not.
        return False
    word = line.rest[0] if line.rest and not line.stopped else ""
    if line.help or line.version or word == "help" or word in program.subcommands:
        return True
    flags, _ = flag_layer(line)
    return any(path in flags and flags[path].value is True for path in _ONESHOT)


def _script(argv: Sequence[str]) -> int | None:
    """Return the place of the script that an interpreter runs, None where it runs none or `argv` is no interpreter."""
    if not _INTERPRETER.fullmatch(_base(argv[0])):
        return None
    rest = iter(enumerate(argv[1:], start=1))
    for place, argument in rest:
        if argument in _OPTIONS_WITHOUT_A_SCRIPT:
            return None
        if argument in _OPTIONS_WITH_A_VALUE:
            next(rest, None)
        elif not argument.startswith("-"):
            return place
    return None


def _base(path: str) -> str:
    return PurePosixPath(path).name
