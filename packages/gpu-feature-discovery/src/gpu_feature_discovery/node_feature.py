"""The NodeFeature object that node-feature-discovery turns into node labels; values only, nothing is sent here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Object = dict[str, Any]

API_VERSION = "nfd.k8s-sigs.io/v1alpha1"
KIND = "NodeFeature"

_NODE_NAME_LABEL = "nfd.node.kubernetes.io/node-name"

LONGEST_NODE_NAME = 63
"""What fits into that label, in characters. The name of a Node may have 253."""


def object_name(node_name: str) -> str:
    """Return the name of the object that holds this node's features."""
    return f"nvidia-features-for-{node_name}"


def wanted(*, node_name: str, namespace: str, labels: Mapping[str, str], owners: Sequence[Object] | None) -> Object:
    """Return the object as it should be, apart from what the API server adds."""
    metadata: Object = {
        "name": object_name(node_name),
        "namespace": namespace,
        "labels": {_NODE_NAME_LABEL: node_name},
    }
    if owners:
        metadata["ownerReferences"] = list(owners)
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": metadata,
        "spec": {"features": {"flags": {}, "attributes": {}, "instances": {}}, "labels": dict(labels)},
    }


def updated(current: Object, target: Object, *, owners: Sequence[Object] | None) -> Object | None:
    """Return `current` with our labels, spec and owners in it, or None when nothing would change.

    The rest of the metadata, the resource version with it, stays: a change made by another in the meantime is
    refused by the API server and can be read again. `owners` are ours; with None the object keeps those it has.
    """
    metadata = dict(current.get("metadata") or {})
    metadata["labels"] = target["metadata"]["labels"]
    if owners is not None and not is_owned(current, owners):
        # Another DaemonSet's object would be deleted with it, and the labels with the object.
        metadata.pop("ownerReferences", None)
        if owners:
            metadata["ownerReferences"] = list(owners)
    result = {**current, "metadata": metadata, "spec": target["spec"]}
    return None if _without_empty(result) == _without_empty(current) else result


def is_owned(current: Object, owners: Sequence[Object]) -> bool:
    """Whether the first of `owners`, our DaemonSet, owns the object already, beside whatever else does."""
    uids = {reference.get("uid") for reference in (current.get("metadata") or {}).get("ownerReferences") or []}
    return bool(owners) and owners[0]["uid"] in uids


def changes_owners(current: Object, changed: Object) -> bool:
    """Whether an update changes who owns the object, for which clusters may ask more rights."""
    before, after = (found.get("metadata", {}).get("ownerReferences") or [] for found in (current, changed))
    return bool(before != after)


def owner_references(pod: Object) -> list[Object]:
    """Return the owners of an object written by this pod: its DaemonSet, as controller, and itself.

    With them, the object goes when the DaemonSet is deleted. A pod without a DaemonSet gives no owners.
    """
    metadata = pod.get("metadata") or {}
    references = metadata.get("ownerReferences") or []
    daemon_set = next((reference for reference in references if reference.get("kind") == "DaemonSet"), None)
    if daemon_set is None:
        return []
    return [
        {
            "apiVersion": daemon_set["apiVersion"],
            "kind": "DaemonSet",
            "name": daemon_set["name"],
            "uid": daemon_set["uid"],
            "controller": True,
        },
        {"apiVersion": "v1", "kind": "Pod", "name": metadata["name"], "uid": metadata["uid"]},
    ]


def _without_empty(value: Any) -> Any:
    # The API server drops empty maps and lists, so their absence is no difference.
    if isinstance(value, dict):
        kept = {key: _without_empty(item) for key, item in value.items()}
        return {key: item for key, item in kept.items() if item not in ({}, [], None)}
    if isinstance(value, list):
        return [_without_empty(item) for item in value]
    return value
