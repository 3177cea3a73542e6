"""What is reported to the cluster about the health of this node's GPUs: Events and a condition, where asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager

from device_plugin.condition_keeper import ConditionKeeper
from device_plugin.node_events import news
from device_plugin.node_health import Observer
from gpu_cluster import Cluster, connect
from gpu_cluster.node_events import NodeEvents
from gpu_core.config.settings import PluginSettings
from gpu_core.errors import ClusterError, UsageError
from gpu_core.resources.ailments import Transition
from gpu_core.resources.health import HealthBook
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

    def _observe(self, transition: Transition, book: HealthBook) -> None:
        if self._events is not None:
            told = news(transition, book)
            self._events.post(warning=told.warning, reason=told.reason, message=told.message)
        if self._keeper is not None:
            self._keeper.changed()


@contextmanager
def reporting(settings: PluginSettings, environ: Mapping[str, str], counters: Counters) -> Iterator[Reports]:
    """Give what reports while the block runs. A cluster that cannot be found is one log line and no reports.

    Raises UsageError when reports are asked for and the node has no name.
    """
    with ExitStack() as stack:
        yield Reports(settings, _cluster(settings, environ, stack), stack, counters)


def _cluster(settings: PluginSettings, environ: Mapping[str, str], stack: ExitStack) -> Cluster | None:
    if not settings.node_events and not settings.node_condition:
        return None
    if not settings.node_name:
        raise UsageError("Events and the condition need the node's name. Give it with --node-name or NODE_NAME.")
    try:
        cluster = connect(
            kubeconfig=settings.kubeconfig,
            qps=settings.kube_api_qps,
            burst=settings.kube_api_burst,
            environ=environ,
            user_agent=USER_AGENT,
        )
    except ClusterError as error:
        get_logger().warning("Nothing is reported to the cluster", reason=str(error))
        return None
    stack.callback(cluster.close)
    return cluster
