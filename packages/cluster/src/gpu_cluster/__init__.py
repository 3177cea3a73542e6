"""Objects of the Kubernetes API as plain dicts.

`connect()` gives a `Cluster` with get, list, create, replace, patch, delete and watch. Kinds are values
(`NODES`, `PODS`, …); failures are `ApiError` and what is below it, all of them `ClusterError`. Importing this
package costs nothing: the `kubernetes` package is loaded by the first `connect()`.
"""

from gpu_cluster.cluster import Cluster, PatchType, connect
from gpu_cluster.errors import (
    ApiError,
    Backoff,
    ConflictError,
    ExpiredError,
    ForbiddenError,
    InvalidError,
    MissingKindError,
    NotFoundError,
    UnauthorizedError,
    UnreachableError,
)
from gpu_cluster.kinds import DAEMON_SETS, EVENTS, NODE_FEATURES, NODES, PODS, Kind
from gpu_cluster.watching import EventType, WatchEvent, WatchStream

__all__ = [
    "DAEMON_SETS",
    "EVENTS",
    "NODES",
    "NODE_FEATURES",
    "PODS",
    "ApiError",
    "Backoff",
    "Cluster",
    "ConflictError",
    "EventType",
    "ExpiredError",
    "ForbiddenError",
    "InvalidError",
    "Kind",
    "MissingKindError",
    "NotFoundError",
    "PatchType",
    "UnauthorizedError",
    "UnreachableError",
    "WatchEvent",
    "WatchStream",
    "connect",
]
