"""Books of health, events and probes for the tests of health."""

from __future__ import annotations

from typing import Any

from core.resources.asking import config_of, entry, time_slicing
from core.resources.building import LOST, mig_device, mig_gpu, node_of, whole_gpu
from gpu_core.config.words import RecoveryMode
from gpu_core.devices.backend import DeviceEvent, EventKind, Probe, RecoveryAction, Watch, Watching
from gpu_core.devices.model import Inventory
from gpu_core.health.book import HealthBook, HealthRules
from gpu_core.health.xids import XidPolicy
from gpu_core.resources.device_map import build_resources
from gpu_core.resources.model import Device

WATCHED = Watching(gpu=Watch.WATCHED)
HEALTHY = Probe(fault=None, recovery=RecoveryAction.NONE)
MUTE = Probe(fault=None, recovery=None)
GONE = Probe(fault=LOST, recovery=None)
OFF = XidPolicy(ignored_all=True)


def asks_for(action: RecoveryAction) -> Probe:
    return Probe(fault=None, recovery=action)


def xid(number: int = 79, gpu: str | None = "GPU-0", *, gi: int | None = None, ci: int | None = None) -> DeviceEvent:
    return DeviceEvent(kind=EventKind.XID, gpu_uuid=gpu, data=number, gpu_instance=gi, compute_instance=ci)


def rules(*, recovery: RecoveryMode = RecoveryMode.DRIVER, quiet: float = 60, policy: XidPolicy | None = None) -> Any:
    policy = policy or XidPolicy()
    return HealthRules(xids=policy, recovery=recovery, quiet=quiet, checks=not policy.checks_nothing)


def book_of(node: Inventory, **more: Any) -> HealthBook:
    """Return the book of a node that was read and whose GPUs are watched."""
    return watch_all(HealthBook(rules=rules(**more), started=0).after_inventory(node, 0)[0])


def watch_all(book: HealthBook, now: float = 0) -> HealthBook:
    for gpu in book.gpus:
        book, _ = book.after_watch(gpu.uuid, WATCHED, now)
    return book


def unhealthy(book: HealthBook, node: Inventory, *, mig: str = "mixed", shares: bool = False) -> list[str]:
    """Return the ids of all unhealthy devices of a node as it is advertised."""
    names = ("nvidia.com/gpu", "nvidia.com/mig-1g.5gb")
    sharing = time_slicing(*(entry(name, 2) for name in names)) if shares else None
    resources, _ = build_resources(node, config_of(mig=mig, sharing=sharing))
    return [device.id for resource in resources for device in resource.devices if not book.state(device.uuid).healthy]


TWO = node_of(whole_gpu(0), whole_gpu(1))
PARTED = node_of(
    mig_gpu(
        0,
        mig_devices=(
            mig_device(0, 0, "1g.5gb", gpu_instance=7),
            mig_device(0, 1, "1c.3g.20gb", gpu_instance=2),
            mig_device(0, 2, "1c.3g.20gb", gpu_instance=2, compute_instance=1),
        ),
    ),
    whole_gpu(1),
)
FIRST = Device(id="GPU-0", uuid="GPU-0", index="0", gpu=whole_gpu(0))
