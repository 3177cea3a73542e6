"""The loop with an API server that refuses and stumbles."""

from __future__ import annotations

from pathlib import Path

import pytest

from fakes.api_faults import Refuse
from fakes.api_objects import Key
from fakes.api_server import ApiServer
from fakes.gfd_bench import Bench
from fakes.kubeconfig import write_kubeconfig
from gpu_cluster import UnauthorizedError
from gpu_core.errors import UsageError
from gpu_feature_discovery.metrics import FAILURES, LABELS


def test_a_destination_without_its_node_is_an_error_at_start(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="NODE_NAME"):
        Bench(tmp_path, "--publish=nodefeature")


def cluster_bench(tmp_path: Path, server: ApiServer, *argv: str) -> Bench:
    kubeconfig = write_kubeconfig(tmp_path / "kubeconfig", server.url)
    return Bench(
        tmp_path, "--node-name=node-a", "--namespace=gpu", f"--kubeconfig={kubeconfig}", "--kube-api-qps=0", *argv
    )


def test_a_refusing_api_server_is_asked_again_and_never_ends_the_program(tmp_path: Path, server: ApiServer) -> None:
    bench = cluster_bench(tmp_path, server)
    server.misbehave(Refuse(503, retry_after=2))
    server.misbehave(Refuse(403), times=2)
    waits = [bench.step(), bench.step(5), bench.step(40), bench.step(80)]
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


def node_labels(server: ApiServer) -> set[str]:
    """Give the labels of ours that the Node has, by their short keys."""
    labels = server.node("node-a")["metadata"]["labels"]
    return {key.removeprefix("nvidia.com/") for key in labels if key.startswith("nvidia.com/")}


def test_a_node_without_nfd_is_marked_before_its_driver_comes(tmp_path: Path, server: ApiServer) -> None:
    server.put_node("node-a")
    bench = cluster_bench(tmp_path, server, "--publish=node", "--fail-on-init-error=false")
    bench.happen("fail Init * DRIVER_NOT_LOADED")
    bench.step()
    assert node_labels(server) == {"gfd.timestamp", "gpu.present", "vgpu.present"}
    assert len(bench.logged("warning")) == 1
    bench.happen("heal *")
    bench.step(60)
    assert {"gpu.present", "gpu.count"} <= node_labels(server)


def test_a_node_without_gpus_is_nothing_to_warn_of(tmp_path: Path, server: ApiServer) -> None:
    server.put_node("node-a")
    bench = cluster_bench(tmp_path, server, "--publish=node", "--fail-on-init-error=false", "--simulated-node=nogpu")
    bench.happen("fail Init * DRIVER_NOT_LOADED")
    bench.step()
    assert node_labels(server) == {"gfd.timestamp", "vgpu.present"}
    assert bench.logged("warning") == []
    assert f"{FAILURES.name} driver" not in bench.counted()


def test_labels_that_go_through_nfd_leave_that_mark_to_it(tmp_path: Path, server: ApiServer) -> None:
    bench = cluster_bench(tmp_path, server, "--publish=nodefeature")
    bench.step()
    feature = server.store.get(Key("nfd.k8s-sigs.io/nodefeatures", "gpu", "nvidia-features-for-node-a"))

    assert "nvidia.com/gpu.present" not in feature["spec"]["labels"]


def posts(server: ApiServer) -> int:
    return len([request for request in server.requests if request.method == "POST"])


@pytest.mark.parametrize(
    ("fault", "most"),
    [
        pytest.param(
            Refuse(422, reason="Invalid", message="spec.labels: too long"), 10, id="an object that is refused"
        ),
        pytest.param(Refuse(403, message="nodefeatures is forbidden"), 10, id="a missing permission"),
        pytest.param(Refuse(404, message="404 page not found"), 10, id="a cluster without the resource"),
        pytest.param(Refuse(503, message="busy"), 80, id="an overloaded server"),
    ],
)
def test_an_interval_shorter_than_the_pause_does_not_shorten_it(
    tmp_path: Path, server: ApiServer, fault: Refuse, most: int
) -> None:
    """A thousand seconds with a pass every second: so many attempts, and one line that says what to change."""
    server.misbehave(fault, method="POST", times=100_000)
    bench = cluster_bench(tmp_path, server, "--sleep-interval=1s")
    for _ in range(1000):
        bench.step(1)
    assert 3 <= posts(server) <= most
    assert len(bench.logged("warning")) == 1


def test_changes_of_the_devices_do_not_shorten_the_pause_either(tmp_path: Path, server: ApiServer) -> None:
    server.misbehave(Refuse(422), method="POST", times=100_000)
    bench = cluster_bench(tmp_path, server)
    bench.step()
    for _ in range(10):
        bench.happen("event 0 xid=31")
        bench.step(1)
    assert posts(server) == 1


def test_a_node_with_a_long_name_is_said_once_and_costs_the_server_nothing(tmp_path: Path, server: ApiServer) -> None:
    bench = cluster_bench(tmp_path, server, f"--node-name={'x' * 64}", "--sleep-interval=1s")
    for _ in range(100):
        bench.step(1)
    assert server.requests == []
    (told,) = bench.logged("warning")
    assert told.startswith("The labels did not reach NodeFeature gpu/nvidia-features-for-xxx")
    assert told.endswith("Publish to the Node itself, with --publish=node (GFD_PUBLISH).")


def test_labels_go_to_the_node_while_the_cluster_has_no_node_features(tmp_path: Path, server: ApiServer) -> None:
    server.put_node("node-a")
    server.misbehave(Refuse(404), path="nodefeatures", times=2)
    bench = cluster_bench(tmp_path, server, "--publish-fallback=node")
    bench.step()
    assert server.node("node-a")["metadata"]["labels"]["nvidia.com/gpu.count"] == "2"
    assert "Until then the labels go to Node node-a." in bench.logged("warning")[0]
