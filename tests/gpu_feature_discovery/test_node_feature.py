from __future__ import annotations

from typing import Any

import pytest

from gpu_feature_discovery.node_feature import object_name, owner_references, updated, wanted

LABELS = {"nvidia.com/gpu.count": "8"}
OWNERS = [{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "gfd", "uid": "u1", "controller": True}]


def target(**changes: Any) -> dict[str, Any]:
    known: dict[str, Any] = {"node_name": "node-a", "namespace": "gpu", "labels": LABELS, "owners": OWNERS}
    return wanted(**(known | changes))


def test_the_object_holds_labels_and_no_features() -> None:
    assert target() == {
        "apiVersion": "nfd.k8s-sigs.io/v1alpha1",
        "kind": "NodeFeature",
        "metadata": {
            "name": "nvidia-features-for-node-a",
            "namespace": "gpu",
            "labels": {"nfd.node.kubernetes.io/node-name": "node-a"},
            "ownerReferences": OWNERS,
        },
        "spec": {"features": {"flags": {}, "attributes": {}, "instances": {}}, "labels": LABELS},
    }


def test_without_owners_the_object_names_none() -> None:
    assert "ownerReferences" not in target(owners=None)["metadata"]


def stored(**metadata: Any) -> dict[str, Any]:
    """Return our object as an API server would have stored it: with an identity, and without what is empty."""
    document = target()
    document["metadata"] |= {"uid": "x", "resourceVersion": "7"} | metadata
    document["spec"] = {"features": {}, "labels": LABELS}
    return document


def test_an_equal_object_is_left_alone() -> None:
    assert updated(stored(), target(), owners_known=True) is None


def test_changed_labels_replace_the_spec_and_keep_the_version() -> None:
    changed = updated(stored(), target(labels={"nvidia.com/gpu.count": "7"}), owners_known=True)
    assert changed is not None
    assert changed["metadata"] == stored()["metadata"]
    assert changed["spec"]["labels"] == {"nvidia.com/gpu.count": "7"}


def test_features_and_labels_of_others_in_our_object_are_removed() -> None:
    foreign = stored(labels={"nfd.node.kubernetes.io/node-name": "node-a", "other": "x"})
    foreign["spec"] = {"features": {"flags": {"a": {"elements": {}}}}, "labels": LABELS}
    changed = updated(foreign, target(), owners_known=True)
    assert changed is not None
    assert changed["metadata"]["labels"] == {"nfd.node.kubernetes.io/node-name": "node-a"}
    assert changed["spec"] == target()["spec"]


def test_owners_that_are_gone_are_removed() -> None:
    changed = updated(stored(), target(owners=[]), owners_known=True)
    assert changed is not None
    assert "ownerReferences" not in changed["metadata"]


def test_owners_that_are_not_known_stay() -> None:
    assert updated(stored(), target(owners=None), owners_known=False) is None


def test_an_object_without_metadata_or_spec_is_filled() -> None:
    changed = updated({"kind": "NodeFeature"}, target(), owners_known=True)
    assert changed is not None
    assert changed["metadata"]["labels"] == {"nfd.node.kubernetes.io/node-name": "node-a"}


DAEMON_SET = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "gfd", "uid": "u1", "blockOwnerDeletion": True}


@pytest.mark.parametrize(
    ("references", "expected"),
    [
        pytest.param([], [], id="a pod that stands alone"),
        pytest.param([{**DAEMON_SET, "kind": "ReplicaSet"}], [], id="a pod of something else"),
        pytest.param(
            [{**DAEMON_SET, "kind": "ReplicaSet"}, DAEMON_SET],
            [*OWNERS, {"apiVersion": "v1", "kind": "Pod", "name": "gfd-1", "uid": "u2"}],
            id="a pod of a DaemonSet",
        ),
    ],
)
def test_owners(references: list[dict[str, Any]], expected: list[dict[str, Any]]) -> None:
    assert owner_references({"metadata": {"name": "gfd-1", "uid": "u2", "ownerReferences": references}}) == expected


def test_the_name_says_whose_features_they_are() -> None:
    assert object_name("node-a") == "nvidia-features-for-node-a"
