"""gpu-feature-discovery as a program: once, or for as long as the node lives."""

from __future__ import annotations

from gpu_core.config.load import Loaded
from gpu_core.config.programs.gpu_feature_discovery import GfdSettings


def run(loaded: Loaded[GfdSettings]) -> int:
    """Label this node as configured and return the exit code. Raises SuiteError."""
    # Each way of running imports only what it needs: a single pass takes less time than the daemon's imports.
    if loaded.config.flags.gfd.oneshot:
        from gpu_core.runtime.held_signals import release_signals  # noqa: PLC0415
        from gpu_feature_discovery.oneshot import label_once  # noqa: PLC0415

        # A single pass answers no signals; they end it.
        release_signals()
        return label_once(loaded)
    from gpu_feature_discovery.running import run_daemon  # noqa: PLC0415

    return run_daemon(loaded)
