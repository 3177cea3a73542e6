"""Labels published through a real HTTP API server on the loopback interface."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from fakes.api_faults import Delay, Drop, Refuse
from fakes.api_objects import Key
from fakes.api_server import ApiServer
from fakes.kubeconfig import write_kubeconfig
from gpu_cluster import ApiError, Cluster, ConflictError, ForbiddenError, NotFoundError, UnauthorizedError, connect
from gpu_feature_discovery.node_patch import ANNOTATION
from gpu_feature_discovery.outputs.fallback import FallbackOutput
from gpu_feature_discovery.outputs.node import NodeOutput
from gpu_feature_discovery.outputs.node_feature import NodeFeatureOutput

LABELS = {"nvidia.com/gpu.count": "8", "nvidia.com/gpu.product": "NVIDIA-H100"}
KEY = Key("nfd.k8s-sigs.io/nodefeatures", "gpu", "nvidia-features-for-node-a")
NODE_FEATURES = "/apis/nfd.k8s-sigs.io/v1alpha1/namespaces/gpu/nodefeatures"


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


def feature_output(cluster: Cluster, warnings: list[str], pod_name: str = "") -> NodeFeatureOutput:
    return NodeFeatureOutput(cluster, node_name="node-a", namespace="gpu", pod_name=pod_name, warn=warnings.append)


def stored(server: ApiServer) -> dict[str, Any]:
    return server.store.get(KEY)


def methods(server: ApiServer) -> list[str]:
    return [request.method for request in server.requests]


def test_the_object_is_created(server: ApiServer, cluster: Cluster, warnings: list[str]) -> None:
    output = feature_output(cluster, warnings)
    output.publish(LABELS)
    assert stored(server)["spec"]["labels"] == LABELS
    assert stored(server)["metadata"]["labels"] == {"nfd.node.kubernetes.io/node-name": "node-a"}
    assert output.place == "NodeFeature gpu/nvidia-features-for-node-a"


def test_equal_labels_are_not_sent_again(server: ApiServer, cluster: Cluster, warnings: list[str]) -> None:
    output = feature_output(cluster, warnings)
    output.publish(LABELS)
    output.publish(LABELS)
    assert methods(server) == ["GET", "POST", "GET"]


def test_changed_labels_update_the_object(server: ApiServer, cluster: Cluster, warnings: list[str]) -> None:
    output = feature_output(cluster, warnings)
    output.publish(LABELS)
    output.publish({"nvidia.com/gpu.count": "7"})
    assert stored(server)["spec"]["labels"] == {"nvidia.com/gpu.count": "7"}


def test_the_object_stays_when_the_program_ends(server: ApiServer, cluster: Cluster, warnings: list[str]) -> None:
    output = feature_output(cluster, warnings)
    output.publish(LABELS)
    output.withdraw()
    assert stored(server)["spec"]["labels"] == LABELS


def test_a_conflict_is_read_again_and_resolved(server: ApiServer, cluster: Cluster, warnings: list[str]) -> None:
    output = feature_output(cluster, warnings)
    output.publish(LABELS)
    server.misbehave(Refuse(409, reason="Conflict"), method="PUT", times=2)
    output.publish({"nvidia.com/gpu.count": "7"})
    assert stored(server)["spec"]["labels"] == {"nvidia.com/gpu.count": "7"}


def test_an_object_that_appears_meanwhile_is_updated(server: ApiServer, cluster: Cluster, warnings: list[str]) -> None:
    output = feature_output(cluster, warnings)
    output.publish({"nvidia.com/gpu.count": "7"})
    server.misbehave(Refuse(404, reason="NotFound"), method="GET")
    output.publish(LABELS)
    assert methods(server) == ["GET", "POST", "GET", "POST", "GET", "PUT"]
    assert stored(server)["spec"]["labels"] == LABELS


def test_an_object_that_vanishes_meanwhile_is_created(server: ApiServer, cluster: Cluster, warnings: list[str]) -> None:
    output = feature_output(cluster, warnings)
    output.publish({"nvidia.com/gpu.count": "7"})
    server.misbehave(Refuse(404, reason="NotFound"), method="PUT")
    server.store.edit(KEY, lambda found: found["spec"].update(labels={}))
    output.publish(LABELS)
    assert stored(server)["spec"]["labels"] == LABELS


def test_endless_conflicts_are_an_error(server: ApiServer, cluster: Cluster, warnings: list[str]) -> None:
    output = feature_output(cluster, warnings)
    output.publish(LABELS)
    server.misbehave(Refuse(409, reason="Conflict"), method="PUT", times=5)
    with pytest.raises(ConflictError):
        output.publish({})


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        pytest.param(Refuse(401), UnauthorizedError, id="401"),
        pytest.param(Refuse(403), ForbiddenError, id="403"),
        pytest.param(Refuse(410), ApiError, id="410"),
        pytest.param(Refuse(429, retry_after=7), ApiError, id="429"),
        pytest.param(Refuse(503), ApiError, id="503"),
        pytest.param(Drop(), ApiError, id="a dropped connection"),
    ],
)
def test_a_refusal_is_an_error_and_the_next_pass_succeeds(
    server: ApiServer, cluster: Cluster, warnings: list[str], fault: Any, expected: type[ApiError]
) -> None:
    output = feature_output(cluster, warnings)
    server.misbehave(fault, path=NODE_FEATURES)
    with pytest.raises(expected) as caught:
        output.publish(LABELS)
    assert caught.value.retry_after == (7 if isinstance(fault, Refuse) and fault.status == 429 else None)
    output.publish(LABELS)
    assert stored(server)["spec"]["labels"] == LABELS


def test_an_answer_that_is_late_is_waited_for(server: ApiServer, cluster: Cluster, warnings: list[str]) -> None:
    server.misbehave(Delay(0.05), times=2)
    feature_output(cluster, warnings).publish(LABELS)
    assert stored(server)["spec"]["labels"] == LABELS


def test_a_server_that_restarts_is_found_again(server: ApiServer, cluster: Cluster, warnings: list[str]) -> None:
    output = feature_output(cluster, warnings)
    output.publish(LABELS)
    server.restart()
    output.publish({"nvidia.com/gpu.count": "7"})
    assert stored(server)["spec"]["labels"] == {"nvidia.com/gpu.count": "7"}


def test_a_token_that_rotates_is_read_again(server: ApiServer, tmp_path: Path, warnings: list[str]) -> None:
    token = tmp_path / "token"
    token.write_text("old\n")
    server.tokens = {"old"}
    kubeconfig = write_kubeconfig(tmp_path / "rotating", server.url, token_file=token)
    output = feature_output(connect(kubeconfig=str(kubeconfig), qps=0, environ={}), warnings)
    output.publish(LABELS)
    server.tokens = {"new"}
    replacement = tmp_path / "next"
    replacement.write_text("new\n")
    replacement.replace(token)
    output.publish({"nvidia.com/gpu.count": "7"})
    assert stored(server)["spec"]["labels"] == {"nvidia.com/gpu.count": "7"}


def test_a_cluster_without_the_resource_says_so(server: ApiServer, cluster: Cluster, warnings: list[str]) -> None:
    server.misbehave(Refuse(404), path=NODE_FEATURES, times=2)
    with pytest.raises(NotFoundError) as caught:
        feature_output(cluster, warnings).publish(LABELS)
    assert str(caught.value) == (
        "The cluster has no NodeFeature resource, or no namespace gpu. Install node-feature-discovery, or publish the "
        "labels another way with --publish=node or --publish=file."
    )


def put_pod(server: ApiServer) -> str:
    reference = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "gfd", "uid": "u1"}
    pod = {"kind": "Pod", "metadata": {"ownerReferences": [reference]}}
    uid: str = server.store.create(Key("pods", "gpu", "gfd-1"), pod)["metadata"]["uid"]
    return uid


def test_the_daemon_set_owns_the_object(server: ApiServer, cluster: Cluster, warnings: list[str]) -> None:
    uid = put_pod(server)
    feature_output(cluster, warnings, "gfd-1").publish(LABELS)
    assert stored(server)["metadata"]["ownerReferences"] == [
        {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "gfd", "uid": "u1", "controller": True},
        {"apiVersion": "v1", "kind": "Pod", "name": "gfd-1", "uid": uid},
    ]


def test_owners_that_cannot_be_read_are_asked_for_again(
    server: ApiServer, cluster: Cluster, warnings: list[str]
) -> None:
    put_pod(server)
    server.misbehave(Refuse(403), path="/pods/")
    output = feature_output(cluster, warnings, "gfd-1")
    output.publish(LABELS)
    assert "ownerReferences" not in stored(server)["metadata"]
    assert len(warnings) == 1
    output.publish(LABELS)
    assert len(stored(server)["metadata"]["ownerReferences"]) == 2


def test_a_token_that_is_refused_for_the_pod_is_refused_for_all(
    server: ApiServer, cluster: Cluster, warnings: list[str]
) -> None:
    server.misbehave(Refuse(401), path="/pods/")
    with pytest.raises(UnauthorizedError):
        feature_output(cluster, warnings, "gfd-1").publish(LABELS)


def test_the_node_gets_our_labels_and_keeps_the_others(server: ApiServer, cluster: Cluster) -> None:
    others = {"kubernetes.io/os": "linux", "nvidia.com/gpu.deploy.driver": "true"}
    server.put_node("node-a", others)
    output = NodeOutput(cluster, node_name="node-a")
    output.publish(LABELS)
    assert server.node("node-a")["metadata"]["labels"] == others | LABELS
    output.publish({"nvidia.com/gpu.count": "7"})
    assert server.node("node-a")["metadata"]["labels"] == others | {"nvidia.com/gpu.count": "7"}
    assert server.node("node-a")["metadata"]["annotations"] == {ANNOTATION: "gpu.count"}
    output.withdraw()
    assert server.node("node-a")["metadata"]["labels"] == others | {"nvidia.com/gpu.count": "7"}
    assert output.place == "Node node-a"


def test_a_node_that_has_our_labels_is_not_patched(server: ApiServer, cluster: Cluster) -> None:
    server.put_node("node-a")
    output = NodeOutput(cluster, node_name="node-a")
    output.publish(LABELS)
    output.publish(LABELS)
    assert methods(server) == ["GET", "PATCH", "GET"]


def test_the_next_pod_removes_what_the_last_one_set(server: ApiServer, cluster: Cluster) -> None:
    server.put_node("node-a")
    NodeOutput(cluster, node_name="node-a").publish(LABELS)
    NodeOutput(cluster, node_name="node-a").publish({})
    assert server.node("node-a")["metadata"]["labels"] == {}


def test_a_node_that_does_not_exist_is_named(cluster: Cluster) -> None:
    with pytest.raises(NotFoundError) as caught:
        NodeOutput(cluster, node_name="node-b").publish(LABELS)
    assert str(caught.value) == "The cluster has no Node node-b. Check --node-name (NODE_NAME)."


class Shelf:
    """A destination that keeps what it was given."""

    place = "a shelf"

    def __init__(self) -> None:
        self.labels: Mapping[str, str] | None = None

    def publish(self, labels: Mapping[str, str]) -> None:
        self.labels = labels

    def withdraw(self) -> None:
        self.labels = None


def test_labels_go_elsewhere_until_the_cluster_knows_the_resource(
    server: ApiServer, cluster: Cluster, warnings: list[str]
) -> None:
    shelf = Shelf()
    output = FallbackOutput(feature_output(cluster, warnings), shelf, warn=warnings.append)
    server.misbehave(Refuse(404), path=NODE_FEATURES, times=2)
    output.publish(LABELS)
    assert (shelf.labels, output.place) == (LABELS, "a shelf")
    assert warnings[0].endswith("Until then the labels go to a shelf.")
    output.publish(LABELS)
    assert (shelf.labels, output.place) == (None, "NodeFeature gpu/nvidia-features-for-node-a")
    assert stored(server)["spec"]["labels"] == LABELS


def test_the_end_of_the_program_takes_back_what_the_second_destination_holds(
    server: ApiServer, cluster: Cluster, warnings: list[str]
) -> None:
    shelf = Shelf()
    output = FallbackOutput(feature_output(cluster, warnings), shelf, warn=warnings.append)
    output.withdraw()
    server.misbehave(Refuse(404), path=NODE_FEATURES, times=2)
    output.publish(LABELS)
    output.withdraw()
    assert shelf.labels is None
