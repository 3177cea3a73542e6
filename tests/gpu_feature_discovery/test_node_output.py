"""Labels on the Node itself, and as what is fallen back to where the cluster has no NodeFeature resource."""

from __future__ import annotations

from typing import Any

import pytest

from fakes.api_faults import Refuse
from fakes.api_server import ApiServer
from fakes.feature_outputs import KEY, LABELS, NODE_FEATURES, Clock, Feature, later, methods, stored
from gpu_cluster import Cluster, ConflictError, NotFoundError
from gpu_feature_discovery.outputs.fallback import FallbackOutput
from gpu_feature_discovery.outputs.node import ANNOTATION, NodeOutput


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


def test_what_a_node_got_from_us_is_taken_back_but_for_what_others_inherit(server: ApiServer, cluster: Cluster) -> None:
    others = {"kubernetes.io/os": "linux", "nvidia.com/gpu.deploy.driver": "true"}
    server.put_node("node-a", others)
    output = NodeOutput(cluster, node_name="node-a")
    output.publish(LABELS)
    assert output.take_back({"nvidia.com/gpu.count": "7"}, known=True) is True
    assert server.node("node-a")["metadata"]["labels"] == others | {"nvidia.com/gpu.count": "8"}
    assert server.node("node-a")["metadata"]["annotations"] == {}
    assert output.take_back({}, known=True) is False


def test_a_node_that_another_changes_meanwhile_is_not_touched(server: ApiServer, cluster: Cluster) -> None:
    server.put_node("node-a")
    output = NodeOutput(cluster, node_name="node-a")
    output.publish(LABELS)
    server.misbehave(Refuse(409, reason="Conflict"), method="PATCH")
    with pytest.raises(ConflictError):
        output.take_back({}, known=True)
    assert (
        server.requests[-1].body["metadata"]["resourceVersion"] == server.node("node-a")["metadata"]["resourceVersion"]
    )


def test_a_node_that_is_gone_has_nothing_of_ours(cluster: Cluster) -> None:
    assert NodeOutput(cluster, node_name="node-b").take_back({}, known=True) is False


@pytest.fixture
def falling_back(
    server: ApiServer, cluster: Cluster, feature_output: Feature, warnings: list[str], clock: Clock
) -> Any:
    server.put_node("node-a")
    node = NodeOutput(cluster, node_name="node-a")
    return FallbackOutput(feature_output(), node, later=later(clock, warnings))


def test_labels_go_to_the_node_until_the_cluster_knows_the_resource(
    server: ApiServer, falling_back: FallbackOutput, warnings: list[str], clock: Clock
) -> None:
    server.lacks.add(KEY.collection)
    falling_back.publish(LABELS)
    assert server.node("node-a")["metadata"]["labels"] == LABELS
    assert (falling_back.place, falling_back.active.place) == ("Node node-a", "Node node-a")
    assert [text.endswith("Until then the labels go to Node node-a.") for text in warnings] == [True]
    server.lacks.clear()
    clock.time += 40
    falling_back.publish(LABELS)
    assert falling_back.place == "NodeFeature gpu/nvidia-features-for-node-a"
    assert stored(server)["spec"]["labels"] == LABELS


def test_a_resource_that_is_missing_is_asked_for_only_every_few_minutes(
    server: ApiServer, falling_back: FallbackOutput, warnings: list[str], clock: Clock
) -> None:
    server.lacks.add(KEY.collection)
    for _ in range(600):
        falling_back.publish(LABELS)
        clock.time += 1
    asked = [request for request in server.requests if request.path.startswith(NODE_FEATURES)]
    assert len([request for request in asked if request.method == "POST"]) == 5
    assert len(warnings) == 1


def test_a_node_that_no_object_can_name_is_labelled_directly(
    server: ApiServer, cluster: Cluster, feature_output: Feature, warnings: list[str], clock: Clock
) -> None:
    name = "x" * 64
    server.put_node(name)
    node = NodeOutput(cluster, node_name=name)
    FallbackOutput(feature_output(node_name=name), node, later=later(clock, warnings)).publish(LABELS)
    assert server.node(name)["metadata"]["labels"] == LABELS
