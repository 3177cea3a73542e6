"""The device plugin as a process: signals and the config file drive it, HTTP and the cluster are told of it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

from device_plugin.app import App
from device_plugin.metrics import REGISTRATIONS, UNHEALTHY_SINCE, UNREAD_GPUS
from device_plugin.plugin_api.plugins import KubeletSockets
from device_plugin.served_node import Directories
from device_plugin.status.page import node_document, node_page
from device_plugin.status.standing import STARTING, checks
from device_plugin.status.view import NodeView, node_view
from gpu_cluster import Cluster, connect
from gpu_cluster.node.reports import Reports, Wanted, reporting
from gpu_cluster.node.taints import is_taint_key
from gpu_core.config.load import Loaded
from gpu_core.config.programs.device_plugin import DEVICE_PLUGIN, PluginSettings
from gpu_core.devices.driver_threads import DriverThreads, by_function
from gpu_core.errors import KubeletError, UsageError
from gpu_core.hardware.node_health import Observer
from gpu_core.hardware.source import NodeSource, node_source
from gpu_core.mps import MpsRoot
from gpu_core.passing import clear_up
from gpu_core.runtime.build import version
from gpu_core.runtime.config_in_use import config_changes_to
from gpu_core.runtime.counters import Counters
from gpu_core.runtime.file_watch import DirectoriesWatch
from gpu_core.runtime.logs import configure_by, get_logger
from gpu_core.runtime.metrics import STUCK_CALLS
from gpu_core.runtime.probes import Check, Pulse
from gpu_core.runtime.signals import signals_to
from gpu_core.runtime.supervise import EventQueue, supervise
from gpu_core.runtime.title import show_own_name
from gpu_core.web.endpoints import Endpoints, answering
from gpu_core.web.program import ProgramView, program_document, program_page

_SETTLE = 0.02
"""Seconds in which the changes of a kubelet that starts are taken together."""


def run(loaded: Loaded[PluginSettings]) -> int:
    """Serve until a signal ends it. Raises SuiteError for what cannot be repaired by waiting."""
    settings = loaded.settings
    configure_by(settings)
    show_own_name(DEVICE_PLUGIN.commands, sys.argv)
    threads = DriverThreads()
    events, counters, pulse = EventQueue(stopping=threads.abandon), Counters(), Pulse(time.monotonic)
    directories = Directories(kubelet=kubelet_sockets(settings), mps=MpsRoot(settings.mps_root_ctr))
    source = node_source(settings.simulated_node, settings.simulated_events, threads=threads)
    apps: list[App] = []
    watched = endpoints(lambda: apps[0] if apps else None, settings.node_name, counters, pulse)
    with ExitStack() as stack:
        stack.enter_context(signals_to(events))
        stack.enter_context(answering(settings.metrics_address, watched))
        reports = stack.enter_context(reports_of(settings, loaded.environ, counters))
        with pulse.turn():
            app = stack.enter_context(
                running(loaded, source, directories, events, counters, observers=reports.observers)
            )
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


def reports_of(
    settings: PluginSettings, environ: Mapping[str, str], counters: Counters
) -> AbstractContextManager[Reports]:
    """Give what tells the cluster of this node while the block runs, where the settings ask for that.

    Raises UsageError when they do and the node has no name, or when a taint is to be removed that cannot be.
    """

    def connected() -> Cluster:
        return connect(
            kubeconfig=settings.kubeconfig,
            qps=settings.kube_api_qps,
            burst=settings.kube_api_burst,
            environ=environ,
            user_agent="k8s-gpu-suite/nvidia-device-plugin",
        )

    return reporting(_wanted(settings), connected, counters)


def _wanted(settings: PluginSettings) -> Wanted:
    wanted = Wanted(
        node=settings.node_name,
        component="nvidia-device-plugin",
        events=settings.node_events,
        condition=settings.node_condition,
        remove_taint=settings.remove_taint,
    )
    if wanted.anything and not settings.node_name:
        raise UsageError(
            "Events, the condition and the start-up taint need the node's name. Give it with --node-name or NODE_NAME."
        )
    key = settings.remove_taint
    if key and not is_taint_key(key):
        raise UsageError(
            f"{key!r} is no key of a taint. Give --remove-taint the key alone, such as example.com/gpu-not-ready; its "
            "value and effect do not matter."
        )
    if key and not settings.kubelet_socket:
        raise UsageError(
            "--remove-taint waits for the kubelet, and there is none without --kubelet-socket. Leave one of them out."
        )
    return wanted


def kubelet_sockets(settings: PluginSettings) -> KubeletSockets:
    """Return where sockets are. Raises KubeletError when the directory to watch is missing."""
    kubelet = Path(settings.kubelet_socket) if settings.kubelet_socket else None
    if kubelet is not None and not kubelet.parent.is_dir():
        raise KubeletError(
            f"{kubelet.parent} is no directory, so the kubelet's socket {kubelet} can never appear. Mount the host's "
            "device plugin directory there, or name the right socket with --kubelet-socket."
        )
    return KubeletSockets(directory=Path(settings.device_plugin_dir), kubelet=kubelet)


@contextmanager
def running(
    loaded: Loaded[PluginSettings],
    source: NodeSource,
    directories: Directories,
    events: EventQueue,
    counters: Counters,
    *,
    observers: Iterable[Observer] = (),
) -> Iterator[App]:
    """Run a started app with its watches, and leave nothing behind. Raises SuiteError."""
    settings = loaded.settings
    with ExitStack() as stack:
        clear_up((directories.kubelet.directory, directories.cdi), get_logger().info)
        file = config_changes_to(events, settings.config_file, loaded.config_text_digest)
        app = App(
            loaded, source, directories, counters=counters, observers=observers, config_problem=lambda: file.problem
        )
        stack.callback(app.stop)
        app.start()
        kubelet = directories.kubelet
        if kubelet.kubelet is not None:
            watched = {kubelet.kubelet.parent, kubelet.directory}
            watch = DirectoriesWatch(lambda: watched, app.node.kubelet_changed, settle=_SETTLE)
            watch.start()
            stack.callback(watch.stop)
            # What happened before the watch began told us nothing.
            app.node.kubelet_changed()
        stack.enter_context(file.running())
        yield app


def endpoints(app: Callable[[], App | None], node: str, counters: Counters, pulse: Pulse) -> Endpoints:
    """Return what the plugin on a node offers to those who watch it; `app` gives None until there is one."""

    def ready() -> tuple[Check, ...]:
        running = app()
        return STARTING if running is None else checks(running.standing())

    def shown() -> NodeView | None:
        running = app()
        if running is None:
            return None
        now, clock = time.time(), time.monotonic()
        return node_view(running.standing(), node=node, version=version(), now=now, clock=clock)

    def starting() -> ProgramView:
        return ProgramView(title="NVIDIA Device Plugin", version=version(), node=node, now=time.time(), checks=STARTING)

    def collect() -> None:
        running = app()
        if running is not None:
            running.node.count()
            _count_unhealthy(counters, running)
            _count_unanswered(counters, running)

    return Endpoints(
        program="nvidia-device-plugin",
        counters=counters,
        pulse=pulse,
        ready=ready,
        page=lambda: program_page(starting()) if (view := shown()) is None else node_page(view),
        document=lambda: program_document(starting()) if (view := shown()) is None else node_document(view),
        collect=collect,
    )


def _count_unanswered(counters: Counters, running: App) -> None:
    inventory = running.node.inventory
    unread = () if inventory is None else inventory.unreadable
    counters.replace(UNREAD_GPUS, [({"index": str(gpu.index), "reason": str(gpu.fault)}, 1.0) for gpu in unread])
    counters.replace(STUCK_CALLS, by_function(running.node.stuck()))


def _count_unhealthy(counters: Counters, running: App) -> None:
    offset = time.time() - time.monotonic()
    counters.replace(
        UNHEALTHY_SINCE,
        [
            (
                {"uuid": uuid, "index": index, "cause": entry.cause.value, "reason": entry.reason},
                round(entry.since + offset, 1),
            )
            for uuid, index, entry in running.node.health.unhealthy()
        ],
    )
