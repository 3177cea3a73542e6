"""The rules of sharing through CUDA MPS, held in common by the device plugin and the MPS control daemon."""

from gpu_core.mps.control import CONTAINER_ROOT, CONTROL, HEALTH_QUESTION, MpsRoot, refusal, unanswered
from gpu_core.mps.marks import STARTING, digest, is_same, shortcomings
from gpu_core.mps.plan import DaemonPlan, SharedGpu, max_clients, plan_daemons, unlimited_gpus

__all__ = [
    "CONTAINER_ROOT",
    "CONTROL",
    "HEALTH_QUESTION",
    "STARTING",
    "DaemonPlan",
    "MpsRoot",
    "SharedGpu",
    "digest",
    "is_same",
    "max_clients",
    "plan_daemons",
    "refusal",
    "shortcomings",
    "unanswered",
    "unlimited_gpus",
]
