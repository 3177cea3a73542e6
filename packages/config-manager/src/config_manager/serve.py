"""config-manager as a process: its log, its signals, its exit code."""

from __future__ import annotations

from config_manager.app import App, Surroundings
from gpu_core.config.load import Loaded
from gpu_core.config.settings import ConfigManagerSettings
from gpu_core.runtime import logs
from gpu_core.runtime.counters import Counters
from gpu_core.runtime.signals import signals_to


def run(loaded: Loaded[ConfigManagerSettings]) -> int:
    """Follow the node's label until a signal ends it, or act on it once."""
    settings = loaded.settings
    logs.configure_by(settings)
    log = logs.get_logger()
    app = App(settings, Surroundings(environ=loaded.environ), log=log, counters=Counters())
    # Signals first: what follows takes its time, and logs.
    with signals_to(app.events):
        for warning in loaded.warnings:
            log.warning("configuration", problem=warning)
        app.run()
    return 0
