"""Finds the processes to signal, and signals them."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from config_manager.processes import Process, select

_PREPARED = re.compile(rb"^Sig(?:Blk|Ign|Cgt):\s*([0-9a-f]+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """What came of a signal: the processes that got it, and those that refused it for lack of permission.

    `starting` are processes that it would have ended; while there are such, none was signalled.
    """

    reached: tuple[int, ...] = ()
    refused: tuple[int, ...] = ()
    starting: tuple[int, ...] = ()


def read_processes(proc: Path) -> tuple[Process, ...]:
    """Read every process under `proc`; those that vanish meanwhile, or that may not be read, are left out.

    Raises OSError where `proc` itself cannot be read.
    """
    processes = []
    for entry in proc.iterdir():
        if entry.name.isdecimal():
            try:
                command_line = (entry / "cmdline").read_bytes()
                comm = (entry / "comm").read_bytes()
            except OSError:
                continue
            # A program that sets its own title may leave the last part without its end, or fill up with zeros.
            parts = command_line.rstrip(b"\0").split(b"\0") if command_line else []
            argv = tuple(os.fsdecode(part) for part in parts)
            processes.append(Process(pid=int(entry.name), argv=argv, comm=os.fsdecode(comm.removesuffix(b"\n"))))
    return tuple(processes)


def signal_programs(
    programs: Sequence[str],
    number: int,
    *,
    proc: Path,
    kill: Callable[[int, int], object] = os.kill,
    waited_for: Collection[int] = (),
) -> Sent:
    """Send the signal once to every process that runs one of `programs`, never to ourselves.

    A process that has only just begun has not said yet what a signal shall do, and would be ended by it, though it
    reads the new config by itself a moment later. So nothing is sent while there is one that is not among those
    `waited_for`, which have had their time and get what they ask for. Raises OSError where `proc` cannot be read.
    """
    pids = select(read_processes(proc), programs, own_pid=os.getpid())
    starting = tuple(pid for pid in pids if pid not in waited_for and not _is_prepared(proc / str(pid), number))
    if starting:
        return Sent(starting=starting)
    reached, refused = [], []
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            try:
                kill(pid, number)
            except PermissionError:
                refused.append(pid)
            else:
                reached.append(pid)
    return Sent(reached=tuple(reached), refused=tuple(refused))


def _is_prepared(process: Path, number: int) -> bool:
    """Whether a process blocks, ignores or handles a signal; where that cannot be read, it counts as prepared."""
    try:
        status = (process / "status").read_bytes()
    except OSError:
        return True
    masks = [int(mask, 16) for mask in _PREPARED.findall(status)]
    return not masks or any(mask >> (number - 1) & 1 for mask in masks)
