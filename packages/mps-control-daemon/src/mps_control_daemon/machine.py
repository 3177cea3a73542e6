"""What a daemon's life depends on: how commands are run, for how long it is waited, where the kernel's files are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from gpu_core.errors import ProcessError
from gpu_core.runtime.process import Completed
from gpu_core.runtime.process import run as run_process
from mps_control_daemon.commands import Command
from mps_control_daemon.interruption import Interruption

Run = Callable[[Command, float], Completed]
"""Runs a command to its end, for so many seconds at most.

Raises ProcessError when that is impossible or takes too long, and Ending when nobody may wait for it.
"""

COMMAND = 10.0
"""Seconds that a command has to end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grace:
    """What a daemon has to end, in seconds from the moment at which it is asked to quit.

    After `quit` it gets SIGTERM, after `terminate` SIGKILL, and after `give_up` it is said that it does not end. Then
    GPUs have `restore` seconds to take their compute mode back. All daemons end at the same time, and all GPUs take
    their modes back at the same time: together that is what the program needs at its end, of the 30 s that a kubelet
    gives it.
    """

    quit: float = 5.0
    terminate: float = 9.0
    give_up: float = 12.0
    restore: float = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """The machine as every daemon sees it."""

    run: Run
    interruption: Interruption
    grace: Grace = field(default_factory=Grace)
    sys: Path = Path("/sys")
    proc: Path = Path("/proc")


def running_commands(interruption: Interruption) -> Run:
    """Return what runs commands until the program is told to end."""

    def run(command: Command, within: float) -> Completed:
        interruption.check()
        env = None if command.environment is None else dict(command.environment)
        try:
            return run_process(
                command.argv, timeout=within, env=env, text=command.input, given_up=lambda: interruption.told
            )
        except ProcessError:
            interruption.check()
            raise

    return run
