"""What a node's GPUs are served as: decided as a whole before anything is done."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gpu_core.config.model import Config
from gpu_core.devices.model import Inventory
from gpu_core.errors import HardwareError
from gpu_core.health.book import HealthRules
from gpu_core.health.xids import xid_policy
from gpu_core.mps import DaemonPlan, plan_daemons
from gpu_core.resources.device_map import build_resources
from gpu_core.resources.model import Resource


@dataclass(frozen=True, slots=True, kw_only=True)
class NodePlan:
    """The resources of a node, the MPS daemons behind them, and what deserves a warning."""

    resources: tuple[Resource, ...] = ()
    daemons: tuple[DaemonPlan, ...] = ()
    warnings: tuple[str, ...] = ()


def plan_node(inventory: Inventory, config: Config) -> NodePlan:
    """Return what to serve. Raises ResourceError or MpsError when the GPUs cannot be served as the config asks."""
    resources, warnings = build_resources(inventory, config)
    return NodePlan(resources=resources, daemons=plan_daemons(resources, config), warnings=warnings)


def check_any_usable(inventory: Inventory) -> None:
    """Raise HardwareError when a node has GPUs, but none of them can be read."""
    faults = [
        *(gone.fault for gone in inventory.unreadable),
        *(fault for gpu in inventory.gpus for fault in gpu.faults),
    ]
    if faults and not any(gpu.usable for gpu in inventory.gpus):
        raise HardwareError(
            f"None of the node's GPUs can be read: {_list(map(str, faults))}. Check them with nvidia-smi, or set "
            "--fail-on-init-error=false to wait for them."
        )


def health_rules(config: Config, *, disable: str | None, enable: str | None) -> tuple[HealthRules, tuple[str, ...]]:
    """Return what makes devices unhealthy and healthy, and warnings; the texts are those of DP_*_HEALTHCHECKS."""
    policy, warnings = xid_policy(config.health, disable=disable, enable=enable)
    rules = HealthRules(
        xids=policy,
        recovery=config.health.recovery,
        quiet=config.health.recovery_quiet_time.seconds,
        checks=not policy.checks_nothing,
    )
    if not rules.checks:
        warnings = (*warnings, _UNCHECKED)
    return rules, warnings


_UNCHECKED = (
    "Health checks are off, since DP_DISABLE_HEALTHCHECKS names every XID: unhealthy GPUs are listed as healthy, and "
    "containers get them."
)


def _list(texts: Iterable[str]) -> str:
    return "; ".join(dict.fromkeys(texts))
