"""What tests of labels in a cluster share: labels, the place of their object, a clock, and how outputs are made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fakes.api_objects import Key
from fakes.api_server import ApiServer
from gpu_cluster import Backoff
from gpu_feature_discovery.outputs.later import Later
from gpu_feature_discovery.outputs.node_feature import NodeFeatureOutput

LABELS = {"nvidia.com/gpu.count": "8", "nvidia.com/gpu.product": "NVIDIA-H100"}
KEY = Key("nfd.k8s-sigs.io/nodefeatures", "gpu", "nvidia-features-for-node-a")
NODE_FEATURES = "/apis/nfd.k8s-sigs.io/v1alpha1/namespaces/gpu/nodefeatures"

Feature = Callable[..., NodeFeatureOutput]


class Clock:
    """Seconds that only the test lets pass."""

    def __init__(self) -> None:
        self.time = 100.0

    def __call__(self) -> float:
        return self.time


def later(clock: Clock, warnings: list[str]) -> Later:
    return Later(Backoff(chance=lambda: 1.0), clock=clock, warn=warnings.append)


def stored(server: ApiServer) -> dict[str, Any]:
    return server.store.get(KEY)


def methods(server: ApiServer) -> list[str]:
    return [request.method for request in server.requests]
