from __future__ import annotations

import pytest

from gpu_cluster.kinds import DAEMON_SETS, NODE_FEATURES, NODES, PODS, Kind


@pytest.mark.parametrize(
    ("kind", "where", "path"),
    [
        pytest.param(NODES, {}, "/api/v1/nodes", id="a collection of the core group"),
        pytest.param(NODES, {"name": "a"}, "/api/v1/nodes/a", id="one node"),
        pytest.param(NODES, {"name": "a", "subresource": "status"}, "/api/v1/nodes/a/status", id="a node's status"),
        pytest.param(PODS, {}, "/api/v1/pods", id="pods of all namespaces"),
        pytest.param(
            DAEMON_SETS,
            {"namespace": "n", "name": "d"},
            "/apis/apps/v1/namespaces/n/daemonsets/d",
            id="one object of a named group",
        ),
        pytest.param(NODES, {"name": "a/../b"}, "/api/v1/nodes/a%2F..%2Fb", id="a name cannot leave its place"),
    ],
)
def test_where_the_api_serves_an_object(kind: Kind, where: dict[str, str], path: str) -> None:
    assert kind.path(**where) == path


def test_a_node_has_no_namespace() -> None:
    with pytest.raises(ValueError, match="nodes have no namespace"):
        NODES.path(namespace="n")


def test_one_pod_needs_its_namespace() -> None:
    with pytest.raises(ValueError, match="needs its namespace"):
        PODS.path(name="p")


def test_api_versions() -> None:
    assert NODES.api_version == "v1"
    assert NODE_FEATURES.api_version == "nfd.k8s-sigs.io/v1alpha1"
