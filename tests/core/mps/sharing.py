"""Plans for the tests of MPS, from the few words that matter."""

from __future__ import annotations

from typing import Any

from core.resources.asking import config_of, entry, mps
from core.resources.building import node_of, whole_gpu
from gpu_core.config.sharing import ReplicatedResource
from gpu_core.devices.model import Gpu, Inventory
from gpu_core.mps import DaemonPlan, SharedGpu, plan_daemons
from gpu_core.resources.device_map import build_resources

MIB = 1 << 20


def ampere(index: int, **facts: Any) -> Gpu:
    return whole_gpu(index, **{"memory": 40_000 * MIB, "compute_capability": (8, 0), **facts})


TWO = node_of(ampere(0), ampere(1))


def plans_of(node: Inventory, *entries: ReplicatedResource, custom: bool = False, **sharing: Any) -> Any:
    config = config_of(sharing=mps(*entries, **sharing), custom=custom)
    resources, _ = build_resources(node, config)
    return plan_daemons(resources, config)


def plan_of(*uuids: str, limit: int | None = 20_000, replicas: int = 2, percentage: float | None = 50.0) -> DaemonPlan:
    return DaemonPlan(
        resource="nvidia.com/gpu",
        gpus=tuple(SharedGpu(uuid=uuid, memory_limit=limit) for uuid in uuids),
        replicas=replicas,
        active_thread_percentage=percentage,
    )


__all__ = ["MIB", "TWO", "ampere", "entry", "node_of", "plan_of", "plans_of", "whole_gpu"]
