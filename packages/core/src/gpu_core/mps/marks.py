"""What MPS control daemons leave behind for the device plugin: with what they run, and whether all do.

The mark of one daemon holds its plan, so that a difference can be told exactly and a GPU that was lost meanwhile is
none. The readiness file holds a digest of all plans. The original leaves both empty.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from gpu_core.mps.plan import DaemonPlan, SharedGpu

STARTING = "starting"
"""The mark of a daemon that has yet to be given its limits."""

MOST = 1 << 20
"""Bytes that are read of a mark or the readiness file; a mark has some 80 for each GPU."""


def digest(plans: Iterable[DaemonPlan]) -> str:
    """Return a text that is equal exactly for equal plans."""
    return hashlib.sha256(json.dumps([asdict(plan) for plan in plans], sort_keys=True).encode()).hexdigest()


def written(plan: DaemonPlan) -> str:
    """Return the mark of a daemon that runs with this plan."""
    return json.dumps(asdict(plan), sort_keys=True) + "\n"


def read(mark: str) -> DaemonPlan | None:
    """Return the plan that a mark tells of; None where it tells of none, as that of a daemon that is starting."""
    try:
        document: Any = json.loads(mark)
        return DaemonPlan(
            resource=document["resource"],
            gpus=tuple(SharedGpu(uuid=gpu["uuid"], memory_limit=gpu["memory_limit"]) for gpu in document["gpus"]),
            replicas=document["replicas"],
            active_thread_percentage=document["active_thread_percentage"],
        )
    except (ValueError, KeyError, TypeError):
        return None


def shortcomings(running: DaemonPlan, wanted: DaemonPlan) -> dict[str, str]:
    """Return the GPUs that a running daemon does not serve as wanted, each with what is wrong.

    A daemon may serve more GPUs than wanted: one that got lost stays with it.
    """
    general = _difference(running, wanted)
    served = {gpu.uuid: gpu for gpu in running.gpus}
    found: dict[str, str] = {}
    for gpu in wanted.gpus:
        known = served.get(gpu.uuid)
        if general is not None:
            found[gpu.uuid] = general
        elif known is None:
            found[gpu.uuid] = "it was started without this GPU"
        elif known != gpu:
            found[gpu.uuid] = f"it gives a client {_mib(known)}, but the config asks for {_mib(gpu)}"
    return found


def is_same(running: DaemonPlan, wanted: DaemonPlan, lost: Iterable[str]) -> bool:
    """Whether a daemon runs exactly as wanted, apart from GPUs that got lost since it started."""
    gone = set(lost) - set(wanted.uuids)
    kept = tuple(gpu for gpu in running.gpus if gpu.uuid not in gone)
    return (running.replicas, running.active_thread_percentage, kept) == (
        wanted.replicas,
        wanted.active_thread_percentage,
        wanted.gpus,
    )


def _difference(running: DaemonPlan, wanted: DaemonPlan) -> str | None:
    if running.replicas != wanted.replicas:
        return f"it divides GPUs into {running.replicas} parts, but the config asks for {wanted.replicas}"
    if running.active_thread_percentage != wanted.active_thread_percentage:
        return f"it gives a client {_threads(running)}, but the config asks for {_threads(wanted)}"
    return None


def _threads(plan: DaemonPlan) -> str:
    percentage = plan.active_thread_percentage
    return "all threads" if percentage is None else f"{percentage:g} % of the threads"


def _mib(gpu: SharedGpu) -> str:
    return "any memory" if gpu.memory_limit is None else f"{gpu.memory_limit} MiB"
