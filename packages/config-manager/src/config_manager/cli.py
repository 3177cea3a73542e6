"""The command `config-manager`."""

# ruff: noqa: PLC0415  What takes long to import is imported once signals are held back.

from __future__ import annotations

import os
import sys

from gpu_core.runtime.held_signals import hold_signals, release_signals


def main() -> None:
    """Run config-manager with the process's arguments and environment."""
    hold_signals()
    from config_manager.serve import run
    from gpu_core.command import run_program
    from gpu_core.config.programs.config_manager import CONFIG_MANAGER
    from gpu_core.runtime.ending import leave
    from gpu_core.runtime.outlet import nobody_waits_for

    name, *argv = sys.argv
    with nobody_waits_for("stderr"):
        code = run_program(
            CONFIG_MANAGER,
            argv,
            os.environ,
            run,
            on_errand=release_signals,
            name=name,
        )
    leave(code)
