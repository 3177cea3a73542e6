"""Where the device plugin stands: what it serves, how the kubelet takes it, what is missing. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gpu_core.devices.driver_threads import StuckCall
from gpu_core.devices.model import Inventory
from gpu_core.health.book import HealthBook
from gpu_core.resources.model import Resource
from gpu_core.runtime.config_in_use import ConfigState
from gpu_core.runtime.probes import Check


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Everything about a running plugin at one moment.

    `inventory` is what was served last, None before the first time. `served` has each resource with how the kubelet
    takes it. `failure` is why the GPUs cannot be read or served now, empty when they can be. `stuck` are calls into the
    driver that have not returned in time.
    """

    config: ConfigState
    book: HealthBook
    inventory: Inventory | None = None
    served: tuple[tuple[Resource, Check], ...] = ()
    failure: str = ""
    stuck: tuple[StuckCall, ...] = ()


def checks(standing: Standing) -> tuple[Check, ...]:
    """Return what it takes to be ready: GPUs that can be read, and a kubelet that follows the list of each resource.

    A newer configuration that cannot be used does not count: the one before is obeyed.
    """
    return (_hardware(standing), *(check for _, check in standing.served), standing.config.check())


STARTING = (Check(name="start", ok=False, reason="the node's GPUs are being read for the first time"),)
"""What is missing before there is anything to ask."""


def _hardware(standing: Standing) -> Check:
    if standing.failure:
        return Check(name="GPUs", ok=False, reason=standing.failure)
    if not standing.served:
        return Check(name="GPUs", ok=False, reason="there is nothing to serve on this node, and nothing is registered")
    devices = [device for resource, _ in standing.served for device in resource.devices]
    unhealthy = [
        device for device in devices if device.gpu is not None and not standing.book.state(device.uuid).healthy
    ]
    gpus = 0 if standing.inventory is None else len(standing.inventory.gpus)
    listed = "1 device" if len(devices) == 1 else f"{len(devices)} devices and shares"
    reason = f"{gpus} found, {listed} served"
    if unhealthy:
        # GPUs first: they are what somebody has to do something about, however many share them.
        broken = len({device.physical for device in unhealthy})
        reason = f"{gpus} found, {broken} of them unhealthy; {listed} served, {len(unhealthy)} of them unhealthy"
    unanswered = tuple(_unanswered(standing))
    concern = bool(unhealthy or unanswered)
    return Check(name="GPUs", ok=True, reason="; ".join([reason, *unanswered]), concern=concern)


def _unanswered(standing: Standing) -> Iterator[str]:
    """Give what has not answered, in words."""
    unread = () if standing.inventory is None else standing.inventory.unreadable
    for gpu in unread:
        yield f"GPU {gpu.index} is not served, as it never answered in full: {gpu.fault}"
    if standing.stuck:
        functions = ", ".join(sorted({f"nvml{stuck.call}" for stuck in standing.stuck}))
        calls = "a call" if len(standing.stuck) == 1 else f"{len(standing.stuck)} calls"
        yield f"{calls} into the driver did not return in time: {functions}"
