"""Labels on the Node itself, for clusters without node-feature-discovery."""

from __future__ import annotations

from collections.abc import Mapping

from gpu_cluster import NODES, Cluster, NotFoundError
from gpu_feature_discovery.node_patch import leaving_patch, node_patch


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
