from __future__ import annotations

import pytest

from fakes.api_faults import Drop, Garbage, HalfAnswer, Refuse
from fakes.api_server import ApiServer
from gpu_cluster import (
    NODE_FEATURES,
    NODES,
    ApiError,
    Cluster,
    ConflictError,
    ExpiredError,
    ForbiddenError,
    InvalidError,
    MissingKindError,
    NotFoundError,
    PatchType,
    UnauthorizedError,
    UnreachableError,
)

FEATURE = {
    "apiVersion": NODE_FEATURES.api_version,
    "kind": "NodeFeature",
    "metadata": {"name": "nvidia-features-for-a"},
    "spec": {"labels": {"nvidia.com/gpu.count": "1"}},
}


def test_an_object_is_created_read_replaced_and_deleted(cluster: Cluster) -> None:
    created = cluster.create(NODE_FEATURES, FEATURE, namespace="default")
    created["spec"] = {"labels": {"nvidia.com/gpu.count": "2"}}
    replaced = cluster.replace(NODE_FEATURES, "nvidia-features-for-a", created, namespace="default")
    assert replaced == cluster.get(NODE_FEATURES, "nvidia-features-for-a", namespace="default")
    assert replaced["spec"] == {"labels": {"nvidia.com/gpu.count": "2"}}
    assert replaced["metadata"]["namespace"] == "default"
    cluster.delete(NODE_FEATURES, "nvidia-features-for-a", namespace="default")
    with pytest.raises(NotFoundError):
        cluster.get(NODE_FEATURES, "nvidia-features-for-a", namespace="default")


def test_replacing_an_older_version_is_a_conflict(cluster: Cluster, server: ApiServer) -> None:
    node = server.put_node("a", labels={"x": "1"})
    server.put_node("a", labels={"x": "2"})
    with pytest.raises(ConflictError) as caught:
        cluster.replace(NODES, "a", node)
    assert caught.value.reason == "Conflict"


def test_creating_an_object_twice_is_a_conflict(cluster: Cluster) -> None:
    cluster.create(NODE_FEATURES, FEATURE, namespace="default")
    with pytest.raises(ConflictError) as caught:
        cluster.create(NODE_FEATURES, FEATURE, namespace="default")
    assert caught.value.reason == "AlreadyExists"


def test_a_merge_patch_changes_and_removes_only_what_it_names(cluster: Cluster, server: ApiServer) -> None:
    server.put_node("a", labels={"keep": "1", "change": "1", "remove": "1"})
    patched = cluster.patch(NODES, "a", {"metadata": {"labels": {"change": "2", "remove": None}}})
    assert patched["metadata"]["labels"] == {"keep": "1", "change": "2"}


def test_a_strategic_patch_of_the_status_changes_one_condition(cluster: Cluster, server: ApiServer) -> None:
    server.put_node("a")
    for condition in ({"type": "Ready", "status": "True"}, {"type": "GpuHealthy", "status": "False"}):
        patched = cluster.patch(
            NODES, "a", {"status": {"conditions": [condition]}}, subresource="status", patch_type=PatchType.STRATEGIC
        )
    assert patched["status"]["conditions"] == [
        {"type": "Ready", "status": "True"},
        {"type": "GpuHealthy", "status": "False"},
    ]


def test_server_side_apply_removes_what_we_no_longer_set(cluster: Cluster, server: ApiServer) -> None:
    server.put_node("a", labels={"foreign": "1"})

    def apply(labels: dict[str, str], manager: str = "gfd", *, force: bool = False) -> dict[str, str]:
        body = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a", "labels": labels}}
        node = cluster.patch(NODES, "a", body, patch_type=PatchType.APPLY, field_manager=manager, force=force)
        applied: dict[str, str] = node["metadata"]["labels"]
        return applied

    assert apply({"mine": "1", "gone": "1"}) == {"foreign": "1", "mine": "1", "gone": "1"}
    assert apply({"mine": "2"}) == {"foreign": "1", "mine": "2"}
    with pytest.raises(ConflictError):
        apply({"mine": "3"}, "another")
    assert apply({"mine": "3"}, "another", force=True) == {"foreign": "1", "mine": "3"}


def test_a_list_is_narrowed_by_field_and_label(cluster: Cluster, server: ApiServer) -> None:
    server.put_node("a", labels={"gpu": "yes"})
    server.put_node("b", labels={"gpu": "yes"})
    server.put_node("c")
    by_label = cluster.list(NODES, label_selector="gpu=yes")
    assert [node["metadata"]["name"] for node in by_label["items"]] == ["a", "b"]
    by_field = cluster.list(NODES, field_selector="metadata.name=c")
    assert [node["metadata"]["name"] for node in by_field["items"]] == ["c"]
    assert by_field["metadata"]["resourceVersion"] == str(server.store.version)


def test_a_list_of_metadata_leaves_spec_and_status_away(cluster: Cluster, server: ApiServer) -> None:
    server.put_node("a", labels={"x": "1"})
    (node,) = cluster.list(NODES, metadata_only=True)["items"]
    assert node["metadata"]["labels"] == {"x": "1"}
    assert set(node) == {"apiVersion", "kind", "metadata"}


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        pytest.param(401, UnauthorizedError, id="401 is Unauthorized"),
        pytest.param(403, ForbiddenError, id="403 is Forbidden"),
        pytest.param(404, MissingKindError, id="404 without a name is MissingKind"),
        pytest.param(409, ConflictError, id="409 is Conflict"),
        pytest.param(410, ExpiredError, id="410 is Expired"),
        pytest.param(422, InvalidError, id="422 is Invalid"),
        pytest.param(429, ApiError, id="429 is an ApiError"),
        pytest.param(500, ApiError, id="500 is an ApiError"),
        pytest.param(503, ApiError, id="503 is an ApiError"),
    ],
)
def test_a_refusal_carries_status_reason_and_retry_after_and_is_not_repeated(
    cluster: Cluster, server: ApiServer, status: int, kind: type[ApiError]
) -> None:
    server.misbehave(Refuse(status, reason="Because", message="told to.", retry_after=7))
    with pytest.raises(kind) as caught:
        cluster.get(NODES, "a")
    assert type(caught.value) is kind
    assert (caught.value.status, caught.value.reason, caught.value.retry_after) == (status, "Because", 7.0)
    assert str(caught.value).startswith(f"The API server answered GET /api/v1/nodes/a with {status}: told to.")
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(Drop(), id="the connection is dropped"),
        pytest.param(HalfAnswer(), id="the answer breaks off"),
        pytest.param(Garbage(), id="the answer is a web page"),
        pytest.param(Garbage(b"[1]"), id="the answer is a list"),
    ],
)
def test_no_usable_answer_is_unreachable(
    cluster: Cluster, server: ApiServer, fault: Drop | HalfAnswer | Garbage
) -> None:
    server.put_node("a")
    server.misbehave(fault)
    with pytest.raises(UnreachableError) as caught:
        cluster.get(NODES, "a")
    assert caught.value.status == 0
    assert cluster.get(NODES, "a")["metadata"]["name"] == "a"


def test_a_stopped_server_is_unreachable_until_it_is_back(cluster: Cluster, server: ApiServer) -> None:
    server.put_node("a")
    cluster.get(NODES, "a")
    server.stop()
    with pytest.raises(UnreachableError):
        cluster.get(NODES, "a")
    server.start()
    assert cluster.get(NODES, "a")["metadata"]["name"] == "a"


def test_a_kind_that_nobody_installed_is_not_a_missing_object(cluster: Cluster, server: ApiServer) -> None:
    with pytest.raises(NotFoundError) as missing:
        cluster.get(NODE_FEATURES, "nvidia-features-for-a", namespace="default")
    assert type(missing.value) is NotFoundError
    server.lacks.add("nfd.k8s-sigs.io/nodefeatures")
    with pytest.raises(MissingKindError):
        cluster.get(NODE_FEATURES, "nvidia-features-for-a", namespace="default")
