"""What the cluster hears of this node, where asked for: Events, a condition about its GPUs, and that pods may come."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager

from device_plugin.condition_keeper import ConditionKeeper
from device_plugin.startup_taint import is_taint_key
from device_plugin.taint_remover import Served, TaintRemover
from gpu_cluster import Cluster, connect
from gpu_cluster.node_events import NodeEvents
from gpu_core.config.settings import PluginSettings
from gpu_core.errors import ClusterError, UsageError
from gpu_core.hardware.node_health import Observer
from gpu_core.health.book import HealthBook
from gpu_core.health.ledger import Transition
from gpu_core.health.summary import news
from gpu_core.runtime.counters import Counters
from gpu_core.runtime.logs import get_logger

USER_AGENT = "k8s-gpu-suite/nvidia-device-plugin"


class Reports:
    """What observes the health of devices, and what follows it once there is a book of it."""

    def __init__(self, settings: PluginSettings, cluster: Cluster | None, stack: ExitStack, counters: Counters) -> None:
        self._settings = settings
        self._cluster = cluster
        self._stack = stack
        self._events: NodeEvents | None = None
        self._keeper: ConditionKeeper | None = None
        if cluster is not None and settings.node_events:
            log = get_logger()
            self._events = NodeEvents(
                cluster,
                node=settings.node_name,
                component="nvidia-device-plugin",
                failed=lambda problem: log.warning("An Event was not posted", reason=problem),
                counters=counters,
            )
            stack.callback(self._events.close)

    @property
    def observers(self) -> tuple[Observer, ...]:
        """What is to be told of transitions; nothing where nothing is reported."""
        return () if self._cluster is None else (self._observe,)

    def follow(self, book: Callable[[], HealthBook]) -> None:
        """Keep the condition true by what `book` gives."""
        if self._cluster is not None and self._settings.node_condition:
            self._keeper = ConditionKeeper(
                self._cluster, node=self._settings.node_name, type_=self._settings.node_condition, book=book
            )
            self._keeper.start()
            self._stack.callback(self._keeper.stop)

    def open_node(self, served: Served) -> None:
        """Take the start-up taint off the Node once `served` says that the kubelet follows every resource."""
        if self._cluster is not None and self._settings.remove_taint:
            remover = TaintRemover(
                self._cluster, node=self._settings.node_name, key=self._settings.remove_taint, served=served
            )
            remover.start()
            self._stack.callback(remover.stop)

    def _observe(self, transition: Transition, book: HealthBook) -> None:
        if self._events is not None:
            told = news(transition, book)
            self._events.post(warning=told.warning, reason=told.reason, message=told.message)
        if self._keeper is not None:
            self._keeper.changed()


@contextmanager
def reporting(settings: PluginSettings, environ: Mapping[str, str], counters: Counters) -> Iterator[Reports]:
    """Give what reports while the block runs. A cluster that cannot be found is one log line and no reports.

    Raises UsageError when reports are asked for and the node has no name, or when a taint is to be removed that cannot
    be.
    """
    with ExitStack() as stack:
        yield Reports(settings, _cluster(settings, environ, stack), stack, counters)


def _cluster(settings: PluginSettings, environ: Mapping[str, str], stack: ExitStack) -> Cluster | None:
    if not settings.uses_cluster:
        return None
    if not settings.node_name:
        raise UsageError(
            "Events, the condition and the start-up taint need the node's name. Give it with --node-name or NODE_NAME."
        )
    _check_taint(settings)
    try:
        cluster = connect(
            kubeconfig=settings.kubeconfig,
            qps=settings.kube_api_qps,
            burst=settings.kube_api_burst,
            environ=environ,
            user_agent=USER_AGENT,
        )
    except ClusterError as error:
        stays = f", and the taint {settings.remove_taint} stays on the Node" if settings.remove_taint else ""
        get_logger().warning(f"Nothing is reported to the cluster{stays}", reason=str(error))
        return None
    stack.callback(cluster.close)
    return cluster


def _check_taint(settings: PluginSettings) -> None:
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
