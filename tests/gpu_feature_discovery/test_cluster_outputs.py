"""Labels published in a NodeFeature object through a real HTTP API server on the loopback interface."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fakes.api_faults import Delay, Drop, Refuse
from fakes.api_server import ApiServer
from fakes.feature_outputs import KEY, LABELS, NODE_FEATURES, Feature, methods, stored
from fakes.kubeconfig import write_kubeconfig
from gpu_cluster import (
    ApiError,
    ConflictError,
    ForbiddenError,
    InvalidError,
    MissingKindError,
    NotFoundError,
    UnauthorizedError,
    connect,
)


def test_the_object_is_created(server: ApiServer, feature_output: Feature) -> None:
    output = feature_output()
    output.publish(LABELS)
    assert stored(server)["spec"]["labels"] == LABELS
    assert stored(server)["metadata"]["labels"] == {"nfd.node.kubernetes.io/node-name": "node-a"}
    assert output.place == "NodeFeature gpu/nvidia-features-for-node-a"


def test_equal_labels_are_not_sent_again(server: ApiServer, feature_output: Feature) -> None:
    output = feature_output()
    output.publish(LABELS)
    output.publish(LABELS)
    assert methods(server) == ["GET", "POST", "GET"]


def test_changed_labels_update_the_object(server: ApiServer, feature_output: Feature) -> None:
    output = feature_output()
    output.publish(LABELS)
    output.publish({"nvidia.com/gpu.count": "7"})
    assert stored(server)["spec"]["labels"] == {"nvidia.com/gpu.count": "7"}


def test_the_object_stays_when_the_program_ends(server: ApiServer, feature_output: Feature) -> None:
    output = feature_output()
    output.publish(LABELS)
    output.withdraw()
    assert stored(server)["spec"]["labels"] == LABELS


def test_a_conflict_is_read_again_and_resolved(server: ApiServer, feature_output: Feature) -> None:
    output = feature_output()
    output.publish(LABELS)
    server.misbehave(Refuse(409, reason="Conflict"), method="PUT", times=2)
    output.publish({"nvidia.com/gpu.count": "7"})
    assert stored(server)["spec"]["labels"] == {"nvidia.com/gpu.count": "7"}


def test_an_object_that_appears_meanwhile_is_updated(server: ApiServer, feature_output: Feature) -> None:
    output = feature_output()
    output.publish({"nvidia.com/gpu.count": "7"})
    server.misbehave(Refuse(404, reason="NotFound"), method="GET")
    output.publish(LABELS)
    assert methods(server) == ["GET", "POST", "GET", "POST", "GET", "PUT"]
    assert stored(server)["spec"]["labels"] == LABELS


def test_an_object_that_vanishes_meanwhile_is_created(server: ApiServer, feature_output: Feature) -> None:
    output = feature_output()
    output.publish({"nvidia.com/gpu.count": "7"})
    server.misbehave(Refuse(404, reason="NotFound"), method="PUT")
    server.store.edit(KEY, lambda found: found["spec"].update(labels={}))
    output.publish(LABELS)
    assert stored(server)["spec"]["labels"] == LABELS


def test_endless_conflicts_are_an_error(server: ApiServer, feature_output: Feature) -> None:
    output = feature_output()
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
    server: ApiServer, feature_output: Feature, fault: Any, expected: type[ApiError]
) -> None:
    output = feature_output()
    server.misbehave(fault, path=NODE_FEATURES)
    with pytest.raises(expected) as caught:
        output.publish(LABELS)
    assert caught.value.retry_after == (7 if isinstance(fault, Refuse) and fault.status == 429 else None)
    output.publish(LABELS)
    assert stored(server)["spec"]["labels"] == LABELS


def test_an_answer_that_is_late_is_waited_for(server: ApiServer, feature_output: Feature) -> None:
    server.misbehave(Delay(0.05), times=2)
    feature_output().publish(LABELS)
    assert stored(server)["spec"]["labels"] == LABELS


def test_a_server_that_restarts_is_found_again(server: ApiServer, feature_output: Feature) -> None:
    output = feature_output()
    output.publish(LABELS)
    server.restart()
    output.publish({"nvidia.com/gpu.count": "7"})
    assert stored(server)["spec"]["labels"] == {"nvidia.com/gpu.count": "7"}


def test_a_token_that_rotates_is_read_again(server: ApiServer, tmp_path: Path, feature_output: Feature) -> None:
    token = tmp_path / "token"
    token.write_text("old\n")
    server.tokens = {"old"}
    kubeconfig = write_kubeconfig(tmp_path / "rotating", server.url, token_file=token)
    output = feature_output(to=connect(kubeconfig=str(kubeconfig), qps=0, environ={}))
    output.publish(LABELS)
    server.tokens = {"new"}
    replacement = tmp_path / "next"
    replacement.write_text("new\n")
    replacement.replace(token)
    output.publish({"nvidia.com/gpu.count": "7"})
    assert stored(server)["spec"]["labels"] == {"nvidia.com/gpu.count": "7"}


def test_a_cluster_without_the_resource_says_so(server: ApiServer, feature_output: Feature) -> None:
    server.lacks.add(KEY.collection)
    with pytest.raises(MissingKindError) as caught:
        feature_output().publish(LABELS)
    assert str(caught.value) == (
        "The cluster has no NodeFeature resource. Install node-feature-discovery, or publish the labels another way "
        "with --publish=node or --publish=file."
    )
    assert caught.value.lasting


def test_a_cluster_without_the_namespace_says_so(server: ApiServer, feature_output: Feature) -> None:
    server.misbehave(Refuse(404, reason="NotFound", name="gpu"), method="POST")
    with pytest.raises(NotFoundError) as caught:
        feature_output().publish(LABELS)
    assert str(caught.value) == (
        "The cluster has no namespace gpu. Create it, or name another with --namespace (NAMESPACE)."
    )


def test_a_node_whose_name_no_label_can_hold_is_told_what_to_do_and_nothing_is_sent(
    server: ApiServer, feature_output: Feature
) -> None:
    name = "gpu-node-" + "x" * 55
    with pytest.raises(InvalidError) as caught:
        feature_output(node_name=name).publish(LABELS)
    assert str(caught.value) == (
        f"A NodeFeature object names its node in a label, where 63 characters fit; {name} has 64, and "
        "node-feature-discovery cannot label it. Publish to the Node itself, with --publish=node (GFD_PUBLISH)."
    )
    assert caught.value.lasting
    assert server.requests == []


def test_a_node_name_that_just_fits_is_published(server: ApiServer, feature_output: Feature) -> None:
    feature_output(node_name="x" * 63).publish(LABELS)
    assert methods(server) == ["GET", "POST"]
