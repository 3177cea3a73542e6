"""Opens the destination that was decided on."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, assert_never

from gpu_core.config.load import Loaded
from gpu_core.config.settings import GfdSettings
from gpu_core.config.words import LabelDestination
from gpu_feature_discovery.outputs import Output
from gpu_feature_discovery.outputs.file import FileOutput
from gpu_feature_discovery.outputs.stream import StreamOutput

if TYPE_CHECKING:
    from gpu_cluster import Cluster

CLUSTER_DESTINATIONS = frozenset({LabelDestination.NODE_FEATURE, LabelDestination.NODE})


def open_output(where: LabelDestination, loaded: Loaded[GfdSettings], *, warn: Callable[[str], object]) -> Output:
    """Return the destination. Raises ClusterError where there is no way to an API server."""
    settings = loaded.settings
    match where:
        case LabelDestination.STDOUT:
            return StreamOutput(sys.stdout, settings.format)
        case LabelDestination.FILE:
            return FileOutput(loaded.config.flags.gfd.output_file, keep=_keeps_file(loaded))
        case LabelDestination.NODE:
            from gpu_feature_discovery.outputs.node import NodeOutput  # noqa: PLC0415  as below

            return NodeOutput(_cluster(loaded), node_name=settings.node_name)
        case LabelDestination.NODE_FEATURE:
            # Access to the API costs more time than everything else together, so only who needs it pays.
            from gpu_feature_discovery.outputs.fallback import FallbackOutput  # noqa: PLC0415
            from gpu_feature_discovery.outputs.node_feature import NodeFeatureOutput  # noqa: PLC0415

            output = NodeFeatureOutput(
                _cluster(loaded),
                node_name=settings.node_name,
                namespace=settings.namespace,
                pod_name=settings.pod_name,
                warn=warn,
            )
            if settings.publish_fallback in (None, LabelDestination.NODE_FEATURE):
                return output
            return FallbackOutput(output, open_output(settings.publish_fallback, loaded, warn=warn), warn=warn)
        case _:
            assert_never(where)


def _keeps_file(loaded: Loaded[GfdSettings]) -> bool:
    """Whether the file outlives us: when nobody would remove it at a better time, or when that was asked for."""
    gfd = loaded.config.flags.gfd
    return loaded.settings.keep_output_file or gfd.oneshot or gfd.sleep_interval.is_infinite


def _cluster(loaded: Loaded[GfdSettings]) -> Cluster:
    from gpu_cluster import connect  # noqa: PLC0415

    settings = loaded.settings
    return connect(
        kubeconfig=settings.kubeconfig or None,
        qps=settings.kube_api_qps,
        burst=settings.kube_api_burst,
        environ=loaded.environ,
        user_agent="gpu-feature-discovery",
    )
