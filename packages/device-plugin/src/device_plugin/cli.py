"""The command line of the device plugin."""

# ruff: noqa: PLC0415  What takes long to import is imported once signals are held back.

from __future__ import annotations

import os
import sys

from gpu_core.runtime.held_signals import hold_signals, release_signals


def main() -> None:
    """Run the program named on the command line."""
    hold_signals()
    # gRPC reads these when it is imported: its threads have no part in the processes that we start, and what it would
    # write to standard error, past our log and in a form of its own, we hear as errors of its calls.
    os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    from device_plugin.allocation.show_cdi import CDI
    from device_plugin.doctor.command import DOCTOR
    from device_plugin.serve import run
    from device_plugin.status.command import STATUS
    from gpu_core.command import run_program
    from gpu_core.config.programs.device_plugin import DEVICE_PLUGIN
    from gpu_core.runtime.ending import leave
    from gpu_core.runtime.outlet import nobody_waits_for

    name, *argv = sys.argv
    with nobody_waits_for("stderr"):
        code = run_program(
            DEVICE_PLUGIN,
            argv,
            os.environ,
            run,
            subcommands=[STATUS, DOCTOR, CDI],
            on_errand=release_signals,
            name=name,
        )
    leave(code)
