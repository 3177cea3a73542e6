"""The command line of gpu-feature-discovery, which is also installed as gfd."""

# ruff: noqa: PLC0415  What takes long to import is imported once signals are held back.

from __future__ import annotations

import os
import sys

from gpu_core.runtime.held_signals import hold_signals, release_signals


def main() -> None:
    """Run the program named on the command line."""
    hold_signals()
    from gpu_core.command import run_program
    from gpu_core.config.programs.gpu_feature_discovery import GPU_FEATURE_DISCOVERY
    from gpu_core.runtime.ending import leave
    from gpu_core.runtime.outlet import nobody_waits_for
    from gpu_feature_discovery.app import run
    from gpu_feature_discovery.show_topology import TOPOLOGY

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
