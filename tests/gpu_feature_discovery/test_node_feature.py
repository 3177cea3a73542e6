from __future__ import annotations

from typing import Any

import pytest

from gpu_feature_discovery.outputs.node_feature import changes_owners, object_name, owner_references, updated, wanted

LABELS = {"nvidia.com/gpu.count": "8"}
OWNERS: list[dict[str, Any]] = [
    {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "gfd", "uid": "u1", "controller": True}
]


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
    assert updated(stored(), target(), owners=OWNERS) is None


def test_changed_labels_replace_the_spec_and_keep_the_version() -> None:
    changed = updated(stored(), target(labels={"nvidia.com/gpu.count": "7"}), owners=OWNERS)
    assert changed is not None
    assert changed["metadata"] == stored()["metadata"]
    assert changed["spec"]["labels"] == {"nvidia.com/gpu.count": "7"}


def test_features_and_labels_of_others_in_our_object_are_removed() -> None:
    foreign = stored(labels={"nfd.node.kubernetes.io/node-name": "node-a", "other": "x"})
    foreign["spec"] = {"features": {"flags": {"a": {"elements": {}}}}, "labels": LABELS}
    changed = updated(foreign, target(), owners=OWNERS)
    assert changed is not None
    assert changed["metadata"]["labels"] == {"nfd.node.kubernetes.io/node-name": "node-a"}
    assert changed["spec"] == target()["spec"]


POD: dict[str, Any] = {"apiVersion": "v1", "kind": "Pod", "name": "gfd-1", "uid": "u2"}
FORMER_POD = {**POD, "name": "gfd-0", "uid": "u0"}
BLOCKING = {**OWNERS[0], "blockOwnerDeletion": True}
ANOTHER = {**OWNERS[0], "name": "nvidia-gfd", "uid": "u7"}
KEEPER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "keeper", "uid": "u8"}


@pytest.mark.parametrize(
    "present",
    [
        pytest.param([OWNERS[0], POD], id="as this pod would write them"),
        pytest.param([OWNERS[0], FORMER_POD], id="as an earlier pod wrote them"),
        pytest.param([BLOCKING], id="with a field that we do not set"),
        pytest.param([KEEPER, OWNERS[0]], id="beside somebody else, in another order"),
    ],
)
def test_owners_that_hold_our_daemon_set_are_kept_exactly(present: list[dict[str, Any]]) -> None:
    ours = [OWNERS[0], POD]
    assert updated(stored(ownerReferences=present), target(), owners=ours) is None
    changed = updated(stored(ownerReferences=present), target(labels={}), owners=ours)
    assert changed is not None
    assert changed["metadata"] == stored(ownerReferences=present)["metadata"]
    assert not changes_owners(stored(ownerReferences=present), changed)


@pytest.mark.parametrize(
    "present",
    [
        pytest.param([ANOTHER, FORMER_POD], id="another DaemonSet"),
        pytest.param([{**ANOTHER, "blockOwnerDeletion": True}], id="another DaemonSet whose deletion it blocks"),
        pytest.param([KEEPER], id="something else"),
        pytest.param([], id="nobody"),
    ],
)
def test_an_object_of_others_becomes_ours(present: list[dict[str, Any]]) -> None:
    ours = [OWNERS[0], POD]
    changed = updated(stored(ownerReferences=present), target(), owners=ours)
    assert changed is not None
    assert changed["metadata"]["ownerReferences"] == ours
    assert changes_owners(stored(ownerReferences=present), changed)


def test_a_pod_without_a_daemon_set_takes_the_owners_away() -> None:
    changed = updated(stored(), target(owners=[]), owners=[])
    assert changed is not None
    assert "ownerReferences" not in changed["metadata"]


def test_owners_stay_while_ours_are_not_known() -> None:
    assert updated(stored(), target(owners=None), owners=None) is None


def test_an_object_without_metadata_or_spec_is_filled() -> None:
    changed = updated({"kind": "NodeFeature"}, target(), owners=OWNERS)
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


def test_a_pod_that_does_not_say_who_it_is_gives_no_owners() -> None:
    assert owner_references({"metadata": {"name": "gfd-1", "ownerReferences": [DAEMON_SET]}}) == []


def test_the_name_says_whose_features_they_are() -> None:
    assert object_name("node-a") == "nvidia-features-for-node-a"
