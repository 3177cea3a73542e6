"""The command line of gpu-feature-discovery, which is also installed as gfd."""

# ruff: noqa: PLC0415  What takes long to import is imported once signals are held back.

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from gpu_core.runtime.held_signals import hold_signals, release_signals

if TYPE_CHECKING:
    from gpu_core.config.load import Loaded
    from gpu_core.config.programs.gpu_feature_discovery import GfdSettings


def run(loaded: Loaded[GfdSettings]) -> int:
    """Label this node as configured and return the exit code. Raises SuiteError."""
    # Each way of running imports only what it needs: a single pass takes less time than the daemon's imports.
    if loaded.config.flags.gfd.oneshot:
        from gpu_feature_discovery.oneshot import label_once

        # A single pass answers no signals; they end it.
        release_signals()
        return label_once(loaded)
    from gpu_feature_discovery.serve import run_daemon

    return run_daemon(loaded)


def main() -> None:
    """Run the program named on the command line."""
    hold_signals()
    from gpu_core.command import run_program
    from gpu_core.config.programs.gpu_feature_discovery import GPU_FEATURE_DISCOVERY
    from gpu_core.runtime.ending import leave
    from gpu_core.runtime.outlet import nobody_waits_for
    from gpu_feature_discovery.topology import TOPOLOGY

    name, *argv = sys.argv
    with nobody_waits_for("stderr"):
        code = run_program(
            GPU_FEATURE_DISCOVERY,
            argv,
            os.environ,
            run,
            subcommands=[TOPOLOGY],
            on_errand=release_signals,
            name=name,
        )
    leave(code)
