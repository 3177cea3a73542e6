"""The NodeFeature object that node-feature-discovery turns into node labels; values only, nothing is sent here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Object = dict[str, Any]

API_VERSION = "nfd.k8s-sigs.io/v1alpha1"
KIND = "NodeFeature"

_NODE_NAME_LABEL = "nfd.node.kubernetes.io/node-name"


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


def updated(current: Object, target: Object, *, owners_known: bool) -> Object | None:
    """Return `current` with our labels, spec and owners in it, or None when nothing would change.

    The rest of the metadata, the resource version with it, stays: a change made by another in the meantime is
    refused by the API server and can be read again. With `owners_known` False the owners stay as they are.
    """
    metadata = dict(current.get("metadata") or {})
    metadata["labels"] = target["metadata"]["labels"]
    if owners_known:
        metadata.pop("ownerReferences", None)
        if "ownerReferences" in target["metadata"]:
            metadata["ownerReferences"] = target["metadata"]["ownerReferences"]
    result = {**current, "metadata": metadata, "spec": target["spec"]}
    return None if _without_empty(result) == _without_empty(current) else result


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
