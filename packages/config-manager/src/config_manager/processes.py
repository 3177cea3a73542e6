"""Whether a process is the program with a certain name. Pure.

A Go program's argv[0] is its name. A Python program's argv[0] is the interpreter and the name is the script's, or
nothing but the kernel's short name (comm) is left when the program has set its own title.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

COMM_LENGTH = 15
"""Length to which the kernel cuts a process's short name."""

_INTERPRETER = re.compile(r"(python|pypy)[0-9.]*t?|(ba|da|a|z)?sh|perl|ruby|node", re.ASCII)

_OPTIONS_WITH_A_VALUE = frozenset({"-W", "-X", "--check-hash-based-pycs"})
_OPTIONS_WITHOUT_A_SCRIPT = frozenset({"-c", "-m", "-e"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """What /proc says about a process. `argv` is empty for kernel threads and for the dead not yet waited for."""

    pid: int
    argv: tuple[str, ...]
    comm: str


def runs(process: Process, program: str) -> bool:
    """Return whether `process` is `program`, a bare name or a path of which the last part counts."""
    if not process.argv:
        return False
    wanted = _base(program)
    first = _base(process.argv[0])
    script = _script(process.argv)
    if process.argv[0] == program or wanted in (first, script):
        return True
    if process.comm != wanted[:COMM_LENGTH]:
        return False
    # A cut name stands for several programs; one that is known to have another name is not ours.
    names = [name for name in (first, script) if name is not None]
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


def _script(argv: Sequence[str]) -> str | None:
    """Return the name of the script that an interpreter runs, None where it runs none or `argv` is no interpreter."""
    if not _INTERPRETER.fullmatch(_base(argv[0])):
        return None
    rest = iter(argv[1:])
    for argument in rest:
        if argument in _OPTIONS_WITHOUT_A_SCRIPT:
            return None
        if argument in _OPTIONS_WITH_A_VALUE:
            next(rest, None)
        elif not argument.startswith("-"):
            return _base(argument)
    return None


def _base(path: str) -> str:
    return PurePosixPath(path).name
