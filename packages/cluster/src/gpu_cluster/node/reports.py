"""What the cluster hears of this node, where asked for: Events, a condition about its GPUs, and that pods may come."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from gpu_cluster import Cluster
from gpu_cluster.node.condition import ConditionKeeper
from gpu_cluster.node.events import NodeEvents
from gpu_cluster.node.taint_remover import Served, TaintRemover
from gpu_core.errors import ClusterError
from gpu_core.hardware.node_health import Observer
from gpu_core.health.book import HealthBook
from gpu_core.health.ledger import Transition
from gpu_core.health.summary import news
from gpu_core.runtime.counters import Counters
from gpu_core.runtime.logs import get_logger


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is to be reported of a `node` by a `component`: Events, a condition of that type, a taint that goes.

    An empty text asks for nothing.
    """

    node: str
    component: str
    events: bool = False
    condition: str = ""
    remove_taint: str = ""

    @property
    def anything(self) -> bool:
        """Whether the cluster is needed."""
        return self.events or bool(self.condition or self.remove_taint)


class Reports:
    """What observes the health of devices, and what follows it once there is a book of it."""

    def __init__(self, wanted: Wanted, cluster: Cluster | None, stack: ExitStack, counters: Counters) -> None:
        self._wanted = wanted
        self._cluster = cluster
        self._stack = stack
        self._events: NodeEvents | None = None
        self._keeper: ConditionKeeper | None = None
        if cluster is not None and wanted.events:
            log = get_logger()
            self._events = NodeEvents(
                cluster,
                node=wanted.node,
                component=wanted.component,
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
        if self._cluster is not None and self._wanted.condition:
            self._keeper = ConditionKeeper(
                self._cluster, node=self._wanted.node, type_=self._wanted.condition, book=book
            )
            self._keeper.start()
            self._stack.callback(self._keeper.stop)

    def open_node(self, served: Served) -> None:
        """Take the start-up taint off the Node once `served` says that the kubelet follows every resource."""
        if self._cluster is not None and self._wanted.remove_taint:
            remover = TaintRemover(self._cluster, node=self._wanted.node, key=self._wanted.remove_taint, served=served)
            remover.start()
            self._stack.callback(remover.stop)

    def _observe(self, transition: Transition, book: HealthBook) -> None:
        if self._events is not None:
            told = news(transition, book)
            self._events.post(warning=told.warning, reason=told.reason, message=told.message)
        if self._keeper is not None:
            self._keeper.changed()


@contextmanager
def reporting(wanted: Wanted, connect: Callable[[], Cluster], counters: Counters) -> Iterator[Reports]:
    """Give what reports while the block runs. A cluster that cannot be found is one log line and no reports."""
    with ExitStack() as stack:
        yield Reports(wanted, _cluster(wanted, connect, stack), stack, counters)


def _cluster(wanted: Wanted, connect: Callable[[], Cluster], stack: ExitStack) -> Cluster | None:
    if not wanted.anything:
        return None
    try:
        cluster = connect()
    except ClusterError as error:
        stays = f", and the taint {wanted.remove_taint} stays on the Node" if wanted.remove_taint else ""
        get_logger().warning(f"Nothing is reported to the cluster{stays}", reason=str(error))
        return None
    stack.callback(cluster.close)
    return cluster
