"""The command line of the MPS control daemon."""

# ruff: noqa: PLC0415  What takes long to import is imported once signals are held back.

from __future__ import annotations

import os
import sys

from gpu_core.runtime.held_signals import hold_signals, release_signals


def main() -> None:
    """Run the program named on the command line."""
    hold_signals()
    from gpu_core.command import run_program
    from gpu_core.config.programs.mps_control_daemon import MPS_CONTROL_DAEMON
    from gpu_core.runtime.ending import leave
    from gpu_core.runtime.outlet import nobody_waits_for
    from mps_control_daemon.mount_shm import MOUNT_SHM
    from mps_control_daemon.serve import run

    name, *argv = sys.argv
    with nobody_waits_for("stderr"):
        code = run_program(
            MPS_CONTROL_DAEMON,
            argv,
            os.environ,
            run,
            subcommands=[MOUNT_SHM],
            on_errand=release_signals,
            name=name,
        )
    leave(code)
