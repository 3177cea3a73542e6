"""Labels on the Node itself, for clusters without node-feature-discovery.

The keys that we have set are remembered in an annotation of the Node, so that a label which no longer holds is
removed even by a later pod, and no label of anyone else's ever is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpu_cluster import NODES, Cluster, NotFoundError
from gpu_core.labels import PREFIX

Object = dict[str, Any]

ANNOTATION = f"{PREFIX}gfd.labels"


def node_patch(node: Object, labels: Mapping[str, str]) -> Object | None:
    """Return the merge patch that gives a Node exactly these labels of ours, or None when it has them."""
    metadata = node.get("metadata") or {}
    present: Mapping[str, str] = metadata.get("labels") or {}
    remembered: str = (metadata.get("annotations") or {}).get(ANNOTATION, "")
    wanted = {key: value for key, value in labels.items() if key.startswith(PREFIX)}
    gone = sorted(key for key in _keys(remembered) if key in present and key not in wanted)
    changed = {key: value for key, value in sorted(wanted.items()) if present.get(key) != value}
    memory = ",".join(sorted(key.removeprefix(PREFIX) for key in wanted))
    patch: Object = {}
    if changed or gone:
        patch["labels"] = {**changed, **dict.fromkeys(gone)}
    if memory != remembered:
        patch["annotations"] = {ANNOTATION: memory}
    return {"metadata": patch} if patch else None


def leaving_patch(node: Object, inherited: Mapping[str, str]) -> Object | None:
    """Return the merge patch that takes our labels off a Node, or None when we have left nothing there.

    Only what the annotation names is ours. Of that, the labels that are `inherited` stay: node-feature-discovery sets
    them from now on, and a gap would move pods. The patch holds for this version of the Node alone.
    """
    metadata = node.get("metadata") or {}
    annotations: Mapping[str, str] = metadata.get("annotations") or {}
    if ANNOTATION not in annotations:
        return None
    present: Mapping[str, str] = metadata.get("labels") or {}
    gone = sorted(key for key in _keys(annotations[ANNOTATION]) if key in present and key not in inherited)
    patch: Object = {"annotations": {ANNOTATION: None}}
    if gone:
        patch["labels"] = dict.fromkeys(gone)
    if "resourceVersion" in metadata:
        patch["resourceVersion"] = metadata["resourceVersion"]
    return {"metadata": patch}


def _keys(remembered: str) -> set[str]:
    return {f"{PREFIX}{name}" for name in remembered.split(",") if name}


class NodeOutput:
    """Patches our labels on the Node, and only ours. They outlive us; the next pod goes on from the annotation."""

    feeds_nfd = False
    grace = 0.0

    def __init__(self, cluster: Cluster, *, node_name: str) -> None:
        self._cluster = cluster
        self._node_name = node_name

    @property
    def place(self) -> str:
        """The Node's name."""
        return f"Node {self._node_name}"

    @property
    def parts(self) -> tuple[NodeOutput, ...]:
        """Itself."""
        return (self,)

    @property
    def active(self) -> NodeOutput:
        """Itself."""
        return self

    def publish(self, labels: Mapping[str, str]) -> None:
        """Set what differs and remove what no longer holds; a merge patch cannot conflict."""
        try:
            patch = node_patch(self._cluster.get(NODES, self._node_name), labels)
        except NotFoundError as error:
            raise NotFoundError(
                f"The cluster has no Node {self._node_name}. Check --node-name (NODE_NAME).",
                status=error.status,
                reason=error.reason,
            ) from error
        if patch is not None:
            self._cluster.patch(NODES, self._node_name, patch)

    def withdraw(self) -> None:
        """Leave the labels: they describe the node, not us."""

    def take_back(self, inherited: Mapping[str, str], *, known: bool) -> bool:  # noqa: ARG002  the Node itself knows
        """Remove the annotation, and those of the labels that it names which nobody inherits."""
        try:
            patch = leaving_patch(self._cluster.get(NODES, self._node_name), inherited)
        except NotFoundError:
            return False
        if patch is None:
            return False
        self._cluster.patch(NODES, self._node_name, patch)
        return True
