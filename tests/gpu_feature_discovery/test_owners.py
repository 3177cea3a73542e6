"""Who owns the NodeFeature object, and what becomes of it when its owner is another one."""

from __future__ import annotations

from typing import Any

import pytest

from fakes.api_faults import Refuse
from fakes.api_objects import Key
from fakes.api_server import ApiServer
from fakes.feature_outputs import KEY, LABELS, Clock, Feature, methods, stored
from gpu_cluster import ForbiddenError, InvalidError, UnauthorizedError

DAEMON_SET: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "DaemonSet",
    "name": "gfd",
    "uid": "u1",
    "controller": True,
}
ANOTHER = {**DAEMON_SET, "name": "nvidia-gfd", "uid": "u7", "blockOwnerDeletion": True}
DELETE, FINALIZERS = "delete nodefeatures", "update daemonsets/finalizers"


def put_pod(server: ApiServer) -> list[dict[str, Any]]:
    """Store our pod, and return the owners that follow from it."""
    reference = {key: DAEMON_SET[key] for key in ("apiVersion", "kind", "name", "uid")}
    pod = {"kind": "Pod", "metadata": {"ownerReferences": [reference]}}
    uid = server.store.create(Key("pods", "gpu", "gfd-1"), pod)["metadata"]["uid"]
    return [DAEMON_SET, {"apiVersion": "v1", "kind": "Pod", "name": "gfd-1", "uid": uid}]


def put_object(server: ApiServer, *owners: dict[str, Any]) -> None:
    body = {
        "kind": "NodeFeature",
        "metadata": {"labels": {"nfd.node.kubernetes.io/node-name": "node-a"}, "ownerReferences": list(owners)},
        "spec": {"labels": {"nvidia.com/gpu.count": "1"}},
    }
    server.store.create(KEY, body)


def owners(server: ApiServer) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = stored(server)["metadata"].get("ownerReferences") or []
    return found


def test_the_daemon_set_owns_the_object(server: ApiServer, feature_output: Feature) -> None:
    ours = put_pod(server)
    server.rights = {DELETE}
    feature_output("gfd-1").publish(LABELS)
    assert owners(server) == ours


@pytest.mark.parametrize("rights", [None, {DELETE}, set[str]()], ids=["not enforced", "enforced", "without rights"])
def test_the_owners_of_our_own_daemon_sets_object_are_kept_exactly(
    server: ApiServer, feature_output: Feature, rights: set[str] | None, warnings: list[str]
) -> None:
    put_pod(server)
    present: list[dict[str, Any]] = [
        {**DAEMON_SET, "blockOwnerDeletion": True},
        {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "p"},
    ]
    put_object(server, *present)
    server.rights = rights
    feature_output("gfd-1").publish(LABELS)
    assert owners(server) == present
    assert stored(server)["spec"]["labels"] == LABELS
    assert warnings == []


def test_another_daemon_sets_object_is_taken_over_in_one_request(server: ApiServer, feature_output: Feature) -> None:
    ours = put_pod(server)
    put_object(server, ANOTHER)
    server.rights = {DELETE, FINALIZERS}
    feature_output("gfd-1").publish(LABELS)
    assert owners(server) == ours
    assert stored(server)["spec"]["labels"] == LABELS
    assert methods(server) == ["GET", "GET", "PUT"]


def test_without_the_right_to_own_the_labels_arrive_all_the_same(
    server: ApiServer, feature_output: Feature, warnings: list[str], clock: Clock
) -> None:
    ours = put_pod(server)
    server.rights = set()
    output = feature_output("gfd-1")
    output.publish(LABELS)
    assert (stored(server)["spec"]["labels"], owners(server)) == (LABELS, [])
    assert methods(server) == ["GET", "GET", "POST", "POST"]
    assert len(warnings) == 1
    assert warnings[0].startswith(
        "The NodeFeature object is written without our DaemonSet as its owner, which was refused. Grant `delete` on "
        "nodefeatures, and `update` on daemonsets/finalizers. The API server answered"
    )
    output.publish(LABELS)
    assert methods(server)[4:] == ["GET"]
    server.rights = {DELETE}
    clock.time += 300
    output.publish(LABELS)
    assert owners(server) == ours
    assert len(warnings) == 1


def test_without_the_right_to_own_another_daemon_sets_object_keeps_its_owners(
    server: ApiServer, feature_output: Feature, warnings: list[str]
) -> None:
    put_pod(server)
    put_object(server, ANOTHER)
    server.rights = set()
    feature_output("gfd-1").publish(LABELS)
    assert (stored(server)["spec"]["labels"], owners(server)) == (LABELS, [ANOTHER])
    assert len(warnings) == 1


def test_what_is_forbidden_with_and_without_owners_is_forbidden(server: ApiServer, feature_output: Feature) -> None:
    put_pod(server)
    server.misbehave(Refuse(403), method="POST", times=2)
    with pytest.raises(ForbiddenError):
        feature_output("gfd-1").publish(LABELS)
    assert methods(server) == ["GET", "GET", "POST", "POST"]


def test_owners_that_cannot_be_read_are_asked_for_again_after_a_while(
    server: ApiServer, feature_output: Feature, warnings: list[str], clock: Clock
) -> None:
    ours = put_pod(server)
    server.misbehave(Refuse(403), path="/pods/")
    output = feature_output("gfd-1")
    for _ in range(3):
        output.publish(LABELS)
    assert owners(server) == []
    assert len(warnings) == 1
    assert len([request for request in server.requests if "/pods/" in request.path]) == 1
    clock.time += 40
    output.publish(LABELS)
    assert owners(server) == ours


def test_a_token_that_is_refused_for_the_pod_is_refused_for_all(server: ApiServer, feature_output: Feature) -> None:
    server.misbehave(Refuse(401), path="/pods/")
    with pytest.raises(UnauthorizedError):
        feature_output("gfd-1").publish(LABELS)


@pytest.mark.parametrize(
    ("present", "known", "gone"),
    [
        pytest.param([DAEMON_SET], False, True, id="our DaemonSet's"),
        pytest.param([ANOTHER], False, False, id="another DaemonSet's"),
        pytest.param([], False, False, id="nobody's"),
        pytest.param([], True, True, id="nobody's, but this process wrote it"),
    ],
)
def test_an_object_is_taken_back_where_it_is_ours(
    server: ApiServer, feature_output: Feature, present: list[dict[str, Any]], known: bool, gone: bool
) -> None:
    put_pod(server)
    put_object(server, *present)
    assert feature_output("gfd-1").take_back({}, known=known) is gone
    assert (server.store.list(KEY.collection) == []) is gone


@pytest.mark.parametrize("lacking", [set[str](), {KEY.collection}], ids=["no object", "no such kind"])
def test_where_there_is_no_object_nothing_is_taken_back(
    server: ApiServer, feature_output: Feature, lacking: set[str]
) -> None:
    server.lacks = lacking
    assert feature_output("gfd-1").take_back({}, known=False) is False


def test_a_refusal_that_owners_are_no_reason_for_is_an_error(server: ApiServer, feature_output: Feature) -> None:
    output = feature_output()
    output.publish(LABELS)
    server.misbehave(Refuse(403, reason="Forbidden"), method="PUT")
    with pytest.raises(ForbiddenError):
        output.publish({"nvidia.com/gpu.count": "7"})


def test_owners_that_are_refused_are_no_reason_to_write_equal_labels_again(
    server: ApiServer, feature_output: Feature, warnings: list[str]
) -> None:
    put_pod(server)
    put_object(server, ANOTHER)
    server.rights = set()
    feature_output("gfd-1").publish({"nvidia.com/gpu.count": "1"})
    assert (owners(server), methods(server)) == ([ANOTHER], ["GET", "GET", "PUT"])
    assert len(warnings) == 1


def test_our_pod_is_read_once_also_where_labels_never_arrived(server: ApiServer, feature_output: Feature) -> None:
    put_pod(server)
    put_object(server, ANOTHER)
    output = feature_output("gfd-1")
    server.misbehave(Refuse(422, reason="Invalid"), method="PUT")
    with pytest.raises(InvalidError):
        output.publish(LABELS)
    assert not output.take_back({}, known=False)
    assert [request.path for request in server.requests if "/pods/" in request.path] == [
        "/api/v1/namespaces/gpu/pods/gfd-1"
    ]
    assert owners(server) == [ANOTHER]
