from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from fakes.api_server import ApiServer
from fakes.feature_outputs import Clock, Feature, later
from fakes.kubeconfig import write_kubeconfig
from gpu_cluster import Cluster, connect
from gpu_feature_discovery.outputs.node_feature import NodeFeatureOutput


@pytest.fixture(autouse=True)
def logs() -> Iterator[None]:
    """Leave no logs for other tests that would go to where this test has looked, and which is closed by then."""
    former = structlog.get_config()
    yield
    structlog.configure(**former)


@pytest.fixture
def server() -> Iterator[ApiServer]:
    with ApiServer() as running:
        yield running


@pytest.fixture
def cluster(server: ApiServer, tmp_path: Path) -> Iterator[Cluster]:
    opened = connect(kubeconfig=str(write_kubeconfig(tmp_path / "kubeconfig", server.url)), qps=0, environ={})
    yield opened
    opened.close()


@pytest.fixture
def warnings() -> list[str]:
    return []


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def feature_output(cluster: Cluster, warnings: list[str], clock: Clock) -> Feature:
    def make(pod_name: str = "", *, node_name: str = "node-a", to: Cluster = cluster) -> NodeFeatureOutput:
        return NodeFeatureOutput(
            to, node_name=node_name, namespace="gpu", pod_name=pod_name, later=lambda: later(clock, warnings)
        )

    return make
