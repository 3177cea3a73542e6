"""Runs the daemon: signals, the config file and the clock drive it, and HTTP shows it."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from gpu_core.config.load import Loaded
from gpu_core.config.programs.gpu_feature_discovery import GPU_FEATURE_DISCOVERY, GfdSettings
from gpu_core.devices.driver_threads import DriverThreads
from gpu_core.runtime.config_in_use import config_changes_to
from gpu_core.runtime.counters import Counters
from gpu_core.runtime.logs import configure_by, get_logger
from gpu_core.runtime.passing import clear_up
from gpu_core.runtime.probes import Pulse
from gpu_core.runtime.signals import signals_to
from gpu_core.runtime.supervise import EventQueue, supervise
from gpu_core.runtime.title import show_own_name
from gpu_core.web.endpoints import answering
from gpu_feature_discovery.daemon import Daemon
from gpu_feature_discovery.operating import endpoints


def run_daemon(loaded: Loaded[GfdSettings]) -> int:
    """Run until a signal ends it. Raises SuiteError for what cannot be repaired by waiting."""
    settings = loaded.settings
    configure_by(settings)
    show_own_name(GPU_FEATURE_DISCOVERY.commands, sys.argv)
    threads = DriverThreads()
    events, counters, pulse = EventQueue(stopping=threads.abandon), Counters(), Pulse(time.monotonic)
    # Signals first: what follows takes its time, and logs.
    with signals_to(events):
        if loaded.config.flags.gfd.output_file:
            # Also where labels go elsewhere now: an earlier run may have written there.
            clear_up((Path(loaded.config.flags.gfd.output_file).parent,), get_logger().info)
        daemon = Daemon(loaded, events, threads, clock=time.monotonic, now=time.time, counters=counters)
        file = config_changes_to(events, settings.config_file, loaded.config_text_digest)
        with (
            answering(settings.metrics_address, endpoints(daemon, file.checks, counters, pulse)),
            file.running(),
            daemon.running(),
        ):
            supervise(events, daemon.act, pulse=pulse)
    return 0
