"""The loop with an API server that refuses and stumbles."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fakes.api_faults import Refuse
from fakes.api_objects import Key
from fakes.api_server import ApiServer
from fakes.gfd_bench import Bench
from fakes.kubeconfig import write_kubeconfig
from gpu_cluster import UnauthorizedError
from gpu_core.errors import UsageError
from gpu_feature_discovery.metrics import LABELS


def test_a_destination_without_its_node_is_an_error_at_start(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="NODE_NAME"):
        Bench(tmp_path, "--publish=nodefeature")


@pytest.fixture
def server() -> Iterator[ApiServer]:
    with ApiServer() as running:
        yield running


def cluster_bench(tmp_path: Path, server: ApiServer, *argv: str) -> Bench:
    kubeconfig = write_kubeconfig(tmp_path / "kubeconfig", server.url)
    return Bench(
        tmp_path, "--node-name=node-a", "--namespace=gpu", f"--kubeconfig={kubeconfig}", "--kube-api-qps=0", *argv
    )


def test_a_refusing_api_server_is_asked_again_and_never_ends_the_program(tmp_path: Path, server: ApiServer) -> None:
    bench = cluster_bench(tmp_path, server)
    server.misbehave(Refuse(503, retry_after=2))
    server.misbehave(Refuse(403), times=2)
    waits = [bench.step(), bench.step(5), bench.step(5), bench.step(5)]
    assert all(wait is not None and wait > 0 for wait in waits)
    feature = server.store.get(Key("nfd.k8s-sigs.io/nodefeatures", "gpu", "nvidia-features-for-node-a"))
    assert feature["spec"]["labels"]["nvidia.com/gpu.count"] == "2"
    assert bench.counted()[LABELS.name] == len(feature["spec"]["labels"])


def test_a_token_that_stays_refused_ends_the_program(tmp_path: Path, server: ApiServer) -> None:
    bench = cluster_bench(tmp_path, server)
    server.misbehave(Refuse(401), times=2)
    bench.step()
    with pytest.raises(UnauthorizedError):
        bench.step(5)


def test_labels_go_to_the_node_while_the_cluster_has_no_node_features(tmp_path: Path, server: ApiServer) -> None:
    server.put_node("node-a")
    server.misbehave(Refuse(404), path="nodefeatures", times=2)
    bench = cluster_bench(tmp_path, server, "--publish-fallback=node")
    bench.step()
    assert server.node("node-a")["metadata"]["labels"]["nvidia.com/gpu.count"] == "2"
    assert "Until then the labels go to Node node-a." in bench.logged("warning")[0]
