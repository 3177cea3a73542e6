"""Labels in a NodeFeature object, from which node-feature-discovery labels the node."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gpu_cluster import NODE_FEATURES, PODS, ApiError, Cluster, ConflictError, NotFoundError, UnauthorizedError
from gpu_feature_discovery.node_feature import Object, object_name, owner_references, updated, wanted

# Each conflict means that another writer has just succeeded; that many in a row are no coincidence.
_MOST_CONFLICTS = 5


class NodeFeatureOutput:
    """Creates the node's object, and updates it where it differs. The object outlives us, with our DaemonSet."""

    def __init__(
        self, cluster: Cluster, *, node_name: str, namespace: str, pod_name: str, warn: Callable[[str], object]
    ) -> None:
        self._cluster = cluster
        self._node_name = node_name
        self._namespace = namespace
        self._pod_name = pod_name
        self._warn = warn
        self._owners: list[Object] | None = None if pod_name else []

    @property
    def place(self) -> str:
        """The object's kind and name."""
        return f"NodeFeature {self._namespace}/{object_name(self._node_name)}"

    def publish(self, labels: Mapping[str, str]) -> None:
        """Make the object's labels these. Raises NotFoundError where the cluster has no such objects."""
        self._find_owners()
        for _ in range(_MOST_CONFLICTS - 1):
            try:
                return self._publish_once(labels)
            except ConflictError:
                continue
        return self._publish_once(labels)

    def withdraw(self) -> None:
        """Leave the object: labels must not flap while a pod is replaced."""

    def _publish_once(self, labels: Mapping[str, str]) -> None:
        target = wanted(
            node_name=self._node_name, namespace=self._namespace, labels=labels, owners=self._owners or None
        )
        name = object_name(self._node_name)
        try:
            current = self._cluster.get(NODE_FEATURES, name, namespace=self._namespace)
        except NotFoundError:
            self._create(target)
            return
        changed = updated(current, target, owners_known=self._owners is not None)
        if changed is not None:
            self._replace(name, changed)

    def _replace(self, name: str, changed: Object) -> None:
        try:
            self._cluster.replace(NODE_FEATURES, name, changed, namespace=self._namespace)
        except NotFoundError as error:
            # It was deleted since it was read; what comes next is a creation.
            raise ConflictError(str(error), status=error.status, reason=error.reason) from error

    def _create(self, target: Object) -> None:
        try:
            self._cluster.create(NODE_FEATURES, target, namespace=self._namespace)
        except NotFoundError as error:
            raise NotFoundError(
                f"The cluster has no NodeFeature resource, or no namespace {self._namespace}. Install "
                "node-feature-discovery, or publish the labels another way with --publish=node or --publish=file.",
                status=error.status,
                reason=error.reason,
            ) from error

    def _find_owners(self) -> None:
        """Look up our DaemonSet once; without an answer, ask again next time and go on without owners."""
        if self._owners is not None:
            return
        try:
            self._owners = owner_references(self._cluster.get(PODS, self._pod_name, namespace=self._namespace))
        except UnauthorizedError:
            raise
        except ApiError as error:
            self._warn(f"The NodeFeature object gets no owners, since our pod cannot be read: {error}")
