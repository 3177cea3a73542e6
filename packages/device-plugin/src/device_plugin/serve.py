"""The device plugin as a process: signals and the config file drive it, HTTP and the cluster are told of it."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from device_plugin.app import App
from device_plugin.metrics import REGISTRATIONS
from device_plugin.node import Places
from device_plugin.node_reports import reporting
from device_plugin.operating import operation
from device_plugin.plugin_api.plugins import KubeletPlaces
from gpu_core.config.load import Loaded
from gpu_core.config.programs import DEVICE_PLUGIN
from gpu_core.config.settings import PluginSettings
from gpu_core.devices.driver_threads import DriverThreads
from gpu_core.errors import KubeletError
from gpu_core.hardware.node_health import Observer
from gpu_core.hardware.source import NodeSource, node_source
from gpu_core.mps import MpsRoot
from gpu_core.runtime.config_in_use import config_changes_to
from gpu_core.runtime.counters import Counters
from gpu_core.runtime.file_watch import DirectoriesWatch
from gpu_core.runtime.logs import configure_by, get_logger
from gpu_core.runtime.operation import operated
from gpu_core.runtime.passing import clear_up
from gpu_core.runtime.probes import Pulse
from gpu_core.runtime.signals import signals_to
from gpu_core.runtime.supervise import EventQueue, supervise
from gpu_core.runtime.title import show_own_name

_SETTLE = 0.02
"""Seconds in which the changes of a kubelet that starts are taken together."""


def run(loaded: Loaded[PluginSettings]) -> int:
    """Serve until a signal ends it. Raises SuiteError for what cannot be repaired by waiting."""
    settings = loaded.settings
    configure_by(settings)
    show_own_name(DEVICE_PLUGIN.commands, sys.argv)
    threads = DriverThreads()
    events, counters, pulse = EventQueue(stopping=threads.abandon), Counters(), Pulse(time.monotonic)
    places = Places(kubelet=kubelet_places(settings), mps=MpsRoot(settings.mps_root_ctr))
    source = node_source(settings.simulated_node, settings.simulated_events, threads=threads)
    apps: list[App] = []
    watched = operation(lambda: apps[0] if apps else None, settings.node_name, counters, pulse)
    with ExitStack() as stack:
        stack.enter_context(signals_to(events))
        stack.enter_context(operated(settings.metrics_address, watched))
        reports = stack.enter_context(reporting(settings, loaded.environ, counters))
        with pulse.turn():
            app = stack.enter_context(running(loaded, source, places, events, counters, observers=reports.observers))
        apps.append(app)
        reports.follow(lambda: app.node.health)
        reports.open_node(lambda: _followed(app, counters))
        supervise(events, app.act, first=app.wait(), pulse=pulse)
    return 0


def _followed(app: App, counters: Counters) -> int | None:
    """Tell, by how many registrations there were, that the GPUs are served and the kubelet follows every resource."""
    standing = app.standing()
    if standing.failure or not standing.served or not all(check.ok for _, check in standing.served):
        return None
    return round(sum(sample.value for sample in counters.snapshot() if sample.metric == REGISTRATIONS))


def kubelet_places(settings: PluginSettings) -> KubeletPlaces:
    """Return where sockets are. Raises KubeletError when the directory to watch is missing."""
    kubelet = Path(settings.kubelet_socket) if settings.kubelet_socket else None
    if kubelet is not None and not kubelet.parent.is_dir():
        raise KubeletError(
            f"{kubelet.parent} is no directory, so the kubelet's socket {kubelet} can never appear. Mount the host's "
            "device plugin directory there, or name the right socket with --kubelet-socket."
        )
    return KubeletPlaces(directory=Path(settings.device_plugin_dir), kubelet=kubelet)


@contextmanager
def running(
    loaded: Loaded[PluginSettings],
    source: NodeSource,
    places: Places,
    events: EventQueue,
    counters: Counters,
    *,
    observers: Iterable[Observer] = (),
) -> Iterator[App]:
    """Run a started app with its watches, and leave nothing behind. Raises SuiteError."""
    settings = loaded.settings
    with ExitStack() as stack:
        clear_up((places.kubelet.directory, places.cdi), get_logger().info)
        file = config_changes_to(events, settings.config_file, loaded.config_text_digest)
        app = App(loaded, source, places, counters=counters, observers=observers, config_problem=lambda: file.problem)
        stack.callback(app.stop)
        app.start()
        kubelet = places.kubelet
        if kubelet.kubelet is not None:
            directories = {kubelet.kubelet.parent, kubelet.directory}
            watch = DirectoriesWatch(lambda: directories, app.node.kubelet_changed, settle=_SETTLE)
            watch.start()
            stack.callback(watch.stop)
            # What happened before the watch began told us nothing.
            app.node.kubelet_changed()
        stack.enter_context(file.running())
        yield app
