"""How a running daemon is watched from outside."""

from __future__ import annotations

import time

from gpu_core.devices.driver_threads import by_function
from gpu_core.runtime.build import version
from gpu_core.runtime.config_in_use import config_name
from gpu_core.runtime.counters import Counters
from gpu_core.runtime.metrics import STUCK_CALLS
from gpu_core.runtime.probes import Check, Checks, Pulse
from gpu_core.web.endpoints import Endpoints
from gpu_core.web.program import ProgramView, program_document, program_page
from gpu_feature_discovery.daemon import Daemon
from gpu_feature_discovery.standing import checks, view


def endpoints(daemon: Daemon, config: Checks, counters: Counters, pulse: Pulse) -> Endpoints:
    """Return what a daemon offers to those who watch it; `config` tells what there is to know of its config file."""

    def ready() -> tuple[Check, ...]:
        return (*checks(daemon.standing, time.time()), *config())

    def shown() -> ProgramView:
        loaded = daemon.loaded
        return view(
            daemon.standing,
            loaded.config,
            checks=ready(),
            config_name=config_name(loaded.settings.config_file),
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
        collect=lambda: counters.replace(STUCK_CALLS, by_function(daemon.stuck())),
    )
