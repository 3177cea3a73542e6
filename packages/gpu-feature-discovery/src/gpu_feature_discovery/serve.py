"""gpu-feature-discovery as a process: signals, the config file and the clock drive it, and HTTP shows it."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from gpu_core.config.load import Loaded
from gpu_core.config.programs.gpu_feature_discovery import GPU_FEATURE_DISCOVERY, GfdSettings
from gpu_core.devices.driver_threads import DriverThreads, by_function
from gpu_core.hardware.source import node_source
from gpu_core.passing import clear_up
from gpu_core.runtime.build import version
from gpu_core.runtime.config_in_use import config_changes_to, config_name
from gpu_core.runtime.counters import Counters
from gpu_core.runtime.logs import configure_by, get_logger
from gpu_core.runtime.metrics import STUCK_CALLS
from gpu_core.runtime.probes import Check, Checks, Pulse
from gpu_core.runtime.signals import signals_to
from gpu_core.runtime.supervise import EventQueue, supervise
from gpu_core.runtime.title import show_own_name
from gpu_core.web.endpoints import Endpoints, answering
from gpu_core.web.program import ProgramView, program_document, program_page
from gpu_feature_discovery.app import App
from gpu_feature_discovery.standing import checks, view


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
        source = node_source(settings.simulated_node, settings.simulated_events, threads=threads)
        app = App(loaded, source, events, clock=time.monotonic, now=time.time, counters=counters)
        file = config_changes_to(events, settings.config_file, loaded.config_text_digest)
        with (
            answering(settings.metrics_address, endpoints(app, file.checks, counters, pulse)),
            file.running(),
            app.running(),
        ):
            supervise(events, app.act, pulse=pulse)
    return 0


def endpoints(app: App, config: Checks, counters: Counters, pulse: Pulse) -> Endpoints:
    """Return what a daemon offers to those who watch it; `config` tells what there is to know of its config file."""

    def ready() -> tuple[Check, ...]:
        return (*checks(app.standing, time.time()), *config())

    def shown() -> ProgramView:
        loaded = app.loaded
        return view(
            app.standing,
            loaded.config,
            checks=ready(),
            config_name=config_name(loaded.file),
            node=loaded.settings.node_name,
            version=version(),
            now=time.time(),
        )

    return Endpoints(
        program="gpu-feature-discovery",
        counters=counters,
        pulse=pulse,
        ready=ready,
        page=lambda: program_page(shown()),
        document=lambda: program_document(shown()),
        collect=lambda: counters.replace(STUCK_CALLS, by_function(app.stuck())),
    )
