"""The MPS control daemon as a process: signals and the config file drive it, and HTTP shows it."""

from __future__ import annotations

import sys
import time

from gpu_core.config.effective import config_text
from gpu_core.config.load import Loaded
from gpu_core.config.programs.mps_control_daemon import MPS_CONTROL_DAEMON, MpsSettings
from gpu_core.devices.driver_threads import DriverThreads, by_function
from gpu_core.hardware.source import node_source
from gpu_core.runtime.build import version
from gpu_core.runtime.config_in_use import config_name
from gpu_core.runtime.counters import Counters
from gpu_core.runtime.logs import configure_by
from gpu_core.runtime.metrics import STUCK_CALLS
from gpu_core.runtime.outlet import nobody_waits_for
from gpu_core.runtime.probes import Pulse
from gpu_core.runtime.signals import signals_to
from gpu_core.runtime.supervise import EventQueue, supervise
from gpu_core.runtime.title import show_own_name
from gpu_core.web.endpoints import Endpoints, answering
from gpu_core.web.program import ProgramView, program_document, program_page
from mps_control_daemon.app import App, running
from mps_control_daemon.interruption import Interruption
from mps_control_daemon.machine import Machine, running_commands

_ENDS_WITHIN = 25.0
"""Seconds from a signal to the end at the latest: daemons are asked to quit first, and kubelets give us 30 seconds."""


def run(loaded: Loaded[MpsSettings]) -> int:
    """Run MPS until a signal ends it. Raises SuiteError for what cannot be repaired by waiting."""
    settings = loaded.settings
    configure_by(settings)
    show_own_name(MPS_CONTROL_DAEMON.commands, sys.argv)
    interruption, threads = Interruption(), DriverThreads()

    def stopping() -> None:
        interruption.tell()
        threads.abandon()

    source = node_source(settings.simulated_node, settings.simulated_events, threads=threads)
    events, counters, pulse = EventQueue(stopping=stopping), Counters(), Pulse(time.monotonic)
    machine = Machine(run=running_commands(interruption), interruption=interruption)
    with (
        # The control daemons' log goes there, and is no reason to wait either.
        nobody_waits_for("stdout"),
        signals_to(events, within=_ENDS_WITHIN),
        running(loaded, source, machine, events, counters) as app,
        answering(settings.metrics_address, endpoints(app, counters, pulse, threads)),
    ):
        supervise(events, app.act, pulse=pulse)
    return 0


def endpoints(app: App, counters: Counters, pulse: Pulse, threads: DriverThreads) -> Endpoints:
    """Return what the program offers to those who watch it."""

    def shown() -> ProgramView:
        loaded = app.loaded
        return ProgramView(
            title="MPS control daemon",
            version=version(),
            node="",
            now=time.time(),
            checks=app.checks(),
            config_name=config_name(loaded.file),
            config=config_text(loaded.config),
        )

    return Endpoints(
        program="mps-control-daemon",
        counters=counters,
        pulse=pulse,
        ready=app.checks,
        page=lambda: program_page(shown()),
        document=lambda: program_document(shown()),
        collect=lambda: counters.replace(STUCK_CALLS, by_function(threads.stuck())),
    )
