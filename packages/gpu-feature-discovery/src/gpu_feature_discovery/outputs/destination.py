"""Where the labels go, decided from what the program was told; and that destination opened."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, assert_never

from gpu_core.config.load import Loaded
from gpu_core.config.programs.gpu_feature_discovery import GfdSettings
from gpu_core.config.words import LabelDestination
from gpu_core.errors import ClusterError, UsageError
from gpu_feature_discovery.outputs import Output, Part
from gpu_feature_discovery.outputs.file import FileOutput
from gpu_feature_discovery.outputs.text import Stream, StreamOutput

if TYPE_CHECKING:
    from gpu_cluster import Cluster
    from gpu_feature_discovery.outputs.later import Later

_IN_A_CLUSTER = "KUBERNETES_SERVICE_HOST"
_SPEAKS_OF_THE_API = ("flags.useNodeFeatureAPI", "--node-name")


def asked_by_person(loaded: Loaded[GfdSettings]) -> bool:
    """Whether someone typed `gfd --oneshot` outside a cluster, and said nothing of its API."""
    return loaded.config.flags.gfd.oneshot and _is_about_this_machine(loaded)


def _is_about_this_machine(loaded: Loaded[GfdSettings]) -> bool:
    """Whether we are outside a cluster, and none of the original's ways to speak of its API was used."""
    said = any(loaded.given(name) for name in _SPEAKS_OF_THE_API)
    return not said and not loaded.environ.get(_IN_A_CLUSTER)


def destination(loaded: Loaded[GfdSettings]) -> LabelDestination:
    """Return where the labels go, and check that what it needs is there. Raises UsageError naming the setting.

    Without --publish this is the original's rule. But outside a cluster, where nobody asks for its API, a file that is
    named gets the labels, and a person who names none sees them printed.
    """
    found = _chosen(loaded)
    for needed in (found, loaded.settings.publish_fallback):
        _check(needed, loaded)
    return found


def stands_in_for_nfd(loaded: Loaded[GfdSettings]) -> bool:
    """Whether labels may go to the Node itself: then nobody else says which nodes have a GPU."""
    return LabelDestination.NODE in (_chosen(loaded), loaded.settings.publish_fallback)


def _chosen(loaded: Loaded[GfdSettings]) -> LabelDestination:
    if loaded.settings.publish is not None:
        return loaded.settings.publish
    flags = loaded.config.flags
    names_file = loaded.given("flags.gfd.outputFile")
    if asked_by_person(loaded) and not names_file:
        return LabelDestination.STDOUT
    if flags.use_node_feature_api and not (names_file and _is_about_this_machine(loaded)):
        return LabelDestination.NODE_FEATURE
    return LabelDestination.FILE if flags.gfd.output_file else LabelDestination.STDOUT


def _check(found: LabelDestination | None, loaded: Loaded[GfdSettings]) -> None:
    settings = loaded.settings
    missing: Mapping[str, bool] = {}
    match found:
        case LabelDestination.NODE_FEATURE:
            missing = {
                "--node-name (NODE_NAME)": not settings.node_name,
                "--namespace (NAMESPACE)": not settings.namespace,
            }
        case LabelDestination.NODE:
            missing = {"--node-name (NODE_NAME)": not settings.node_name}
        case LabelDestination.FILE:
            missing = {"--output-file (GFD_OUTPUT_FILE)": not loaded.config.flags.gfd.output_file}
        case LabelDestination.STDOUT | None:
            pass
        case _:
            assert_never(found)
    empty = [name for name, lacks in missing.items() if lacks]
    if empty:
        raise UsageError(
            f"Publishing labels as {found} needs {' and '.join(empty)}, which is not set. "
            "Set it, or choose another destination with --publish=file, stdout, nodefeature or node."
        )


CLUSTER_DESTINATIONS = frozenset({LabelDestination.NODE_FEATURE, LabelDestination.NODE})


class Opener:
    """Opens destinations for one program; they share one way to the API server, which is made when one needs it.

    `clock` gives seconds that only grow, `warn` hears what should be looked at, `stopped` says whether the program
    ends, and waits for nothing. `print_to` returns where labels are printed.
    """

    def __init__(
        self,
        *,
        clock: Callable[[], float],
        warn: Callable[[str], object],
        stopped: Callable[[], bool] = lambda: False,
        print_to: Callable[[], Stream | None] = lambda: sys.stdout,
    ) -> None:
        self._clock = clock
        self._warn = warn
        self._stopped = stopped
        self._print_to = print_to
        self._connected: Cluster | None = None

    def open(self, where: LabelDestination, loaded: Loaded[GfdSettings]) -> Output:
        """Return the destination. Raises ClusterError where there is no way to an API server."""
        part = self._part(where, loaded)
        fallback = loaded.settings.publish_fallback
        if where is not LabelDestination.NODE_FEATURE or fallback in (None, LabelDestination.NODE_FEATURE):
            return part
        from gpu_feature_discovery.outputs.fallback import FallbackOutput  # noqa: PLC0415  as below

        return FallbackOutput(part, self._part(fallback, loaded), later=self.later())

    def former(self, where: LabelDestination, loaded: Loaded[GfdSettings]) -> tuple[Part, ...]:
        """Return the destinations that an earlier process on this node may have left labels in.

        None for standard output, which replaces no other: whoever asks for it may only want to see the labels.
        """
        if where is LabelDestination.STDOUT:
            return ()
        settings = loaded.settings
        found: list[LabelDestination] = []
        if loaded.config.flags.gfd.output_file:
            found.append(LabelDestination.FILE)
        if settings.node_name and (where in CLUSTER_DESTINATIONS or self._may_reach_cluster(loaded)):
            found.append(LabelDestination.NODE)
            if settings.namespace:
                found.append(LabelDestination.NODE_FEATURE)
        return tuple(self._part(other, loaded) for other in found if other is not where)

    def later(self) -> Later:
        """Return an account of the failures of a step that is not the job itself."""
        from gpu_cluster import Backoff  # noqa: PLC0415  as below
        from gpu_feature_discovery.outputs.later import Later  # noqa: PLC0415

        return Later(Backoff(chance=random.random), clock=self._clock, warn=self._warn)

    def _part(self, where: LabelDestination, loaded: Loaded[GfdSettings]) -> Part:
        settings = loaded.settings
        match where:
            case LabelDestination.STDOUT:
                return StreamOutput(self._print_to(), settings.format)
            case LabelDestination.FILE:
                return FileOutput(loaded.config.flags.gfd.output_file, keep=_keeps_file(loaded))
            case LabelDestination.NODE:
                from gpu_feature_discovery.outputs.node import NodeOutput  # noqa: PLC0415  as below

                return NodeOutput(self._cluster(loaded), node_name=settings.node_name)
            case LabelDestination.NODE_FEATURE:
                # Access to the API costs more time than everything else together, so only who needs it pays.
                from gpu_feature_discovery.outputs.node_feature import NodeFeatureOutput  # noqa: PLC0415

                return NodeFeatureOutput(
                    self._cluster(loaded),
                    node_name=settings.node_name,
                    namespace=settings.namespace,
                    pod_name=settings.pod_name,
                    later=self.later,
                )
            case _:
                assert_never(where)

    def _may_reach_cluster(self, loaded: Loaded[GfdSettings]) -> bool:
        """Whether there is a way to the API server, for labels that do not need it and must not fail for it."""
        from gpu_cluster.access import is_at_hand  # noqa: PLC0415

        if not is_at_hand(loaded.settings.kubeconfig, loaded.environ):
            return False
        try:
            self._cluster(loaded)
        except ClusterError:
            return False
        return True

    def _cluster(self, loaded: Loaded[GfdSettings]) -> Cluster:
        # Nothing that says how to reach it can change while the program runs.
        if self._connected is None:
            from gpu_cluster import connect  # noqa: PLC0415

            settings = loaded.settings
            self._connected = connect(
                kubeconfig=settings.kubeconfig or None,
                qps=settings.kube_api_qps,
                burst=settings.kube_api_burst,
                environ=loaded.environ,
                user_agent="gpu-feature-discovery",
                stopped=self._stopped,
            )
        return self._connected


def _keeps_file(loaded: Loaded[GfdSettings]) -> bool:
    """Whether the file outlives us: when nobody would remove it at a better time, or when that was asked for."""
    gfd = loaded.config.flags.gfd
    return loaded.settings.keep_output_file or gfd.oneshot or gfd.sleep_interval.is_infinite
