"""Labels in the NodeFeature object from which node-feature-discovery labels the node."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gpu_cluster import (
    NODE_FEATURES,
    PODS,
    ApiError,
    Cluster,
    ConflictError,
    ForbiddenError,
    InvalidError,
    MissingKindError,
    NotFoundError,
    UnauthorizedError,
)
from gpu_feature_discovery.outputs.later import Later

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
    if daemon_set is None or not {"name", "uid"} <= metadata.keys():
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


# Each conflict means that another writer has just succeeded; that many in a row are no coincidence.
_MOST_CONFLICTS = 5


class NodeFeatureOutput:
    """Creates the node's object, and updates it where it differs. The object outlives us, with our DaemonSet."""

    feeds_nfd = True

    # A label file is read by node-feature-discovery's worker every minute.
    grace = 150.0

    def __init__(
        self,
        cluster: Cluster,
        *,
        node_name: str,
        namespace: str,
        pod_name: str,
        later: Callable[[], Later],
    ) -> None:
        self._cluster = cluster
        self._node_name = node_name
        self._namespace = namespace
        self._pod_name = pod_name
        self._name = object_name(node_name)
        self._owners: list[Object] | None = None if pod_name else []
        self._owners_asked, self._owners_set = later(), later()

    @property
    def place(self) -> str:
        """The object's kind and name."""
        return f"NodeFeature {self._namespace}/{self._name}"

    @property
    def parts(self) -> tuple[NodeFeatureOutput, ...]:
        """Itself."""
        return (self,)

    @property
    def active(self) -> NodeFeatureOutput:
        """Itself."""
        return self

    def publish(self, labels: Mapping[str, str]) -> None:
        """Make the object's labels these.

        Raises NotFoundError where the cluster has no such objects, and InvalidError for a node that none can name.
        """
        if len(self._node_name) > LONGEST_NODE_NAME:
            raise InvalidError(
                f"A NodeFeature object names its node in a label, where {LONGEST_NODE_NAME} characters fit; "
                f"{self._node_name} has {len(self._node_name)}, and node-feature-discovery cannot label it. "
                "Publish to the Node itself, with --publish=node (GFD_PUBLISH).",
                status=422,
            )
        self._find_owners()
        for _ in range(_MOST_CONFLICTS - 1):
            try:
                return self._publish_once(labels)
            except ConflictError:
                continue
        return self._publish_once(labels)

    def withdraw(self) -> None:
        """Leave the object: labels must not flap while a pod is replaced."""

    def take_back(self, inherited: Mapping[str, str], *, known: bool) -> bool:  # noqa: ARG002  NFD removes its labels
        """Delete the object; where this process did not write it, only if our DaemonSet owns it."""
        try:
            current = self._cluster.get(NODE_FEATURES, self._name, namespace=self._namespace)
            if not known and not is_owned(current, self._read_owners()):
                return False
            self._cluster.delete(NODE_FEATURES, self._name, namespace=self._namespace, only=current)
        except NotFoundError:
            # The object, or the pod without which nothing proves that it is ours.
            return False
        return True

    def _publish_once(self, labels: Mapping[str, str]) -> None:
        owners = self._owners if self._owners_set.is_due() else None
        try:
            current = self._cluster.get(NODE_FEATURES, self._name, namespace=self._namespace)
        except NotFoundError:
            self._create(labels, owners)
        else:
            self._update(current, labels, owners)

    def _create(self, labels: Mapping[str, str], owners: Sequence[Object] | None) -> None:
        try:
            try:
                self._cluster.create(NODE_FEATURES, self._target(labels, owners), namespace=self._namespace)
            except ForbiddenError as error:
                if not owners:
                    raise
                self._cluster.create(NODE_FEATURES, self._target(labels, None), namespace=self._namespace)
                self._refused_owners(error)
        except MissingKindError as error:
            raise MissingKindError(
                "The cluster has no NodeFeature resource. Install node-feature-discovery, or publish the labels "
                "another way with --publish=node or --publish=file.",
                status=error.status,
                reason=error.reason,
            ) from error
        except NotFoundError as error:
            raise NotFoundError(
                f"The cluster has no namespace {self._namespace}. Create it, or name another with --namespace "
                "(NAMESPACE).",
                status=error.status,
                reason=error.reason,
            ) from error

    def _update(self, current: Object, labels: Mapping[str, str], owners: Sequence[Object] | None) -> None:
        target = self._target(labels, owners)
        changed = updated(current, target, owners=owners)
        if changed is None:
            return
        try:
            self._replace(changed)
        except ForbiddenError as error:
            if not changes_owners(current, changed):
                raise
            again = updated(current, target, owners=None)
            if again is not None:
                self._replace(again)
            self._refused_owners(error)

    def _replace(self, changed: Object) -> None:
        try:
            self._cluster.replace(NODE_FEATURES, self._name, changed, namespace=self._namespace)
        except NotFoundError as error:
            # It was deleted since it was read; what comes next is a creation.
            raise ConflictError(str(error), status=error.status, reason=error.reason) from error

    def _target(self, labels: Mapping[str, str], owners: Sequence[Object] | None) -> Object:
        return wanted(node_name=self._node_name, namespace=self._namespace, labels=labels, owners=owners)

    def _refused_owners(self, error: ForbiddenError) -> None:
        self._owners_set.failed(
            error,
            "The NodeFeature object is written without our DaemonSet as its owner, which was refused. Grant `delete` "
            f"on nodefeatures, and `update` on daemonsets/finalizers. {error}",
        )

    def _find_owners(self) -> None:
        """Look up our DaemonSet once; without an answer, ask again later and go on without owners."""
        if self._owners is not None or not self._owners_asked.is_due():
            return
        try:
            self._owners = self._read_owners()
        except UnauthorizedError:
            raise
        except ApiError as error:
            self._owners_asked.failed(
                error, f"The NodeFeature object gets no owners, since our pod cannot be read: {error}"
            )

    def _read_owners(self) -> list[Object]:
        """Return what our objects are owned by, nothing where nobody told us our pod. Raises ApiError."""
        if self._owners is not None:
            return self._owners
        return owner_references(self._cluster.get(PODS, self._pod_name, namespace=self._namespace))
