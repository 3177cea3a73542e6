"""Finds the processes to signal, and signals them."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from config_manager.processes import Process, select


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """What came of a signal: the processes that got it, and those that refused it for lack of permission."""

    reached: tuple[int, ...]
    refused: tuple[int, ...] = ()


def read_processes(proc: Path) -> tuple[Process, ...]:
    """Read every process under `proc`; those that vanish meanwhile, or that may not be read, are left out."""
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
    programs: Sequence[str], number: int, *, proc: Path, kill: Callable[[int, int], object] = os.kill
) -> Sent:
    """Send the signal once to every process that runs one of `programs`, never to ourselves."""
    reached, refused = [], []
    for pid in select(read_processes(proc), programs, own_pid=os.getpid()):
        try:
            kill(pid, number)
        except ProcessLookupError:
            continue
        except PermissionError:
            refused.append(pid)
        else:
            reached.append(pid)
    return Sent(reached=tuple(reached), refused=tuple(refused))
