"""The way to the API server, and its verbs over plain dicts."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any

from gpu_cluster.access import SERVICE_ACCOUNT, find_access
from gpu_cluster.documents import decoded, is_object
from gpu_cluster.errors import UnreachableError
from gpu_cluster.kinds import Kind
from gpu_cluster.rate import TokenBucket
from gpu_cluster.transport import Transport
from gpu_cluster.watching import WatchStream

REQUEST_TIMEOUT = 30.0
"""Longest time of a request that is not a watch, and until a watch begins, in seconds."""

JSON = "application/json"
ONLY_METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
ONLY_METADATA_OF_A_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"

WATCH_GRACE = 15.0
"""How many seconds after the time that a watch asked for its end is overdue."""


class PatchType(StrEnum):
    """How a patch is applied, by its media type."""

    MERGE = "application/merge-patch+json"
    STRATEGIC = "application/strategic-merge-patch+json"
    APPLY = "application/apply-patch+yaml"
    """Server-side apply; needs a field manager."""


class Cluster:
    """Reads and writes objects. Threads may share it.

    Every method that asks the server raises ApiError for what it refuses, and Ending once the program ends.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def get(self, kind: Kind, name: str, *, namespace: str | None = None) -> dict[str, Any]:
        """Return one object."""
        return self._request("GET", kind.path(namespace=namespace, name=name))

    def list(
        self,
        kind: Kind,
        *,
        namespace: str | None = None,
        field_selector: str = "",
        label_selector: str = "",
        metadata_only: bool = False,
    ) -> dict[str, Any]:
        """Return the collection: its `items`, and in `metadata` the resource version to watch from.

        With `metadata_only` the server leaves spec and status away, which for a Node are most of it; a server that
        cannot do that sends everything.
        """
        query = _selectors(field_selector, label_selector)
        accept = ONLY_METADATA_OF_A_LIST if metadata_only else JSON
        return self._request("GET", kind.path(namespace=namespace), query=query, accept=accept)

    def create(self, kind: Kind, body: Mapping[str, Any], *, namespace: str | None = None) -> dict[str, Any]:
        """Create an object and return it as stored. Raises ConflictError when it exists."""
        return self._request("POST", kind.path(namespace=namespace), body=body)

    def replace(
        self,
        kind: Kind,
        name: str,
        body: Mapping[str, Any],
        *,
        namespace: str | None = None,
        subresource: str | None = None,
    ) -> dict[str, Any]:
        """Replace an object. Raises ConflictError when it is not the version in `body` any more."""
        path = kind.path(namespace=namespace, name=name, subresource=subresource)
        return self._request("PUT", path, body=body)

    def patch(
        self,
        kind: Kind,
        name: str,
        body: Mapping[str, Any],
        *,
        namespace: str | None = None,
        subresource: str | None = None,
        patch_type: PatchType = PatchType.MERGE,
        field_manager: str | None = None,
        force: bool = False,
    ) -> dict[str, Any]:
        """Change parts of an object; with `PatchType.APPLY`, create it where it is missing.

        `force` takes over fields that another manager owns, and counts only with `PatchType.APPLY`.
        """
        query = {} if field_manager is None else {"fieldManager": field_manager}
        if force and patch_type is PatchType.APPLY:
            query["force"] = "true"
        path = kind.path(namespace=namespace, name=name, subresource=subresource)
        return self._request("PATCH", path, query=query, body=body, content_type=patch_type.value)

    def delete(
        self, kind: Kind, name: str, *, namespace: str | None = None, only: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Delete an object and return what the server says about it.

        `only` is the object as it was read: raises ConflictError where it is another one, or another version, by now.
        """
        body = None
        if only is not None:
            metadata = only["metadata"]
            preconditions = {key: metadata[key] for key in ("uid", "resourceVersion") if key in metadata}
            body = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": preconditions}
        return self._request("DELETE", kind.path(namespace=namespace, name=name), body=body)

    def watch(
        self,
        kind: Kind,
        *,
        resource_version: str,
        namespace: str | None = None,
        field_selector: str = "",
        label_selector: str = "",
        timeout: float = 300.0,
        metadata_only: bool = False,
    ) -> WatchStream:
        """Open a watch on the changes after `resource_version`; the server ends it after `timeout` seconds.

        Bookmarks are asked for, and `metadata_only` is as for `list`. Raises ExpiredError, here or while iterating,
        when the version is too old.
        """
        query = {
            **_selectors(field_selector, label_selector),
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": resource_version,
            "timeoutSeconds": str(max(1, round(timeout))),
        }
        path = kind.path(namespace=namespace)
        accept = ONLY_METADATA if metadata_only else JSON
        response = self._transport.open(
            path, query=query, accept=accept, timeout=REQUEST_TIMEOUT, silence=timeout + WATCH_GRACE
        )
        return WatchStream(f"GET {path}?watch=true", response)

    def close(self) -> None:
        """End: what other threads still ask is given up, and nothing more can be asked."""
        self._transport.close()

    def _request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
        content_type: str = JSON,
        accept: str = JSON,
    ) -> dict[str, Any]:
        content = self._transport.ask(
            method,
            path,
            query=query or {},
            body=body,
            content_type=content_type,
            accept=accept,
            timeout=REQUEST_TIMEOUT,
        )
        try:
            document = decoded(content)
        except ValueError as error:
            raise UnreachableError(f"The answer to {method} {path} is no JSON.", status=0) from error
        if not is_object(document):
            raise UnreachableError(f"The answer to {method} {path} is no object of the Kubernetes API.", status=0)
        found: dict[str, Any] = document
        return found


def connect(
    *,
    kubeconfig: str | None = None,
    qps: float = 5.0,
    burst: int = 10,
    environ: Mapping[str, str],
    user_agent: str = "k8s-gpu-suite",
    service_account: Path = SERVICE_ACCOUNT,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], object] = time.sleep,
    stopped: Callable[[], bool] = lambda: False,
) -> Cluster:
    """Return access to the API server: through `kubeconfig` where one is given, else with the pod's service account.

    At most `burst` requests are sent at once, and `qps` a second over time; a `qps` of 0 or less lifts the
    limit. What waits for an answer is told soon after `stopped` says that the program ends, or after `close`. No
    request is made yet. Raises ClusterError where there is neither a pod nor a kubeconfig.
    """
    access = find_access(kubeconfig, environ, service_account=service_account)
    bucket = TokenBucket(qps=qps, burst=burst)
    return Cluster(Transport(access, bucket, user_agent=user_agent, clock=clock, sleep=sleep, stopped=stopped))


def _selectors(field_selector: str, label_selector: str) -> dict[str, str]:
    given = {"fieldSelector": field_selector, "labelSelector": label_selector}
    return {name: value for name, value in given.items() if value}
