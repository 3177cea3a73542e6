"""Opens the way to the API server."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path

from gpu_cluster.access import SERVICE_ACCOUNT, find_access
from gpu_cluster.cluster import Cluster
from gpu_cluster.rate import TokenBucket
from gpu_cluster.transport import Transport


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
