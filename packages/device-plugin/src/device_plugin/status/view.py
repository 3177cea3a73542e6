"""A node as it is shown: its resources and GPUs, gathered from where the plugin stands. Pure.

Times are seconds since 1970. Memory is in MiB.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from device_plugin.status.standing import Standing, checks
from gpu_core.config.effective import config_text
from gpu_core.devices.model import WITHOUT_HEALTH_CHECKS, PairLink
from gpu_core.resources.model import Device, Resource
from gpu_core.runtime.probes import Check
from gpu_core.web.gpus import GpuView, HealthView, ShownHealth, gpu_view, shown_health


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceView:
    """A whole device of a resource, or all of its shares together, by the UUID and index of what is behind it."""

    uuid: str
    index: str
    product: str
    ids: tuple[str, ...]
    health: HealthView


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceView:
    """A resource: how its devices are shared, and where it stands with the kubelet."""

    name: str
    sharing: str
    replicas: int
    devices: tuple[DeviceView, ...]
    kubelet: Check

    @property
    def healthy_devices(self) -> int:
        """How many whole devices are healthy; each counts once, however many share it."""
        return sum(device.health.healthy for device in self.devices)

    @property
    def listed(self) -> int:
        """How many devices or shares the kubelet is told of."""
        return sum(len(device.ids) for device in self.devices)

    @property
    def healthy(self) -> int:
        """How many of them are healthy."""
        return sum(len(device.ids) for device in self.devices if device.health.healthy)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigView:
    """The configuration in use: the file's name (empty without one), the SHA-256 of its text, and all keys as text."""

    name: str
    digest: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeView:
    """Everything about a node. `links` is by position in `gpus`; `unreadable` are GPUs by index, with their fault."""

    program: str
    version: str
    node: str
    now: float
    platform: str
    driver: str
    cuda: str
    checks: tuple[Check, ...]
    config: ConfigView
    gpus: tuple[GpuView, ...] = ()
    unreadable: tuple[tuple[int, str], ...] = ()
    resources: tuple[ResourceView, ...] = ()
    links: tuple[tuple[PairLink, ...], ...] = ()


def node_view(standing: Standing, *, node: str, version: str, now: float, clock: float) -> NodeView:
    """Return the node as it is shown.

    `now` is in seconds since 1970, `clock` the same moment by the clock of the health book.
    """
    inventory = standing.inventory
    unwatched = inventory is not None and inventory.platform in WITHOUT_HEALTH_CHECKS
    health = shown_health(standing.book, now - clock, unwatched=unwatched)
    gpus = () if inventory is None else inventory.gpus
    offers = _offers(resource for resource, _ in standing.served)
    return NodeView(
        program="NVIDIA Device Plugin",
        version=version,
        node=node,
        now=now,
        platform="" if inventory is None else inventory.platform.value,
        driver="" if inventory is None else inventory.driver_version or "",
        cuda="" if inventory is None or inventory.cuda_version is None else ".".join(map(str, inventory.cuda_version)),
        checks=checks(standing),
        config=ConfigView(
            name=standing.config.name, digest=standing.config.digest, text=config_text(standing.config.config)
        ),
        gpus=tuple(gpu_view(gpu, health, offers.get(gpu.uuid, ())) for gpu in gpus),
        unreadable=() if inventory is None else tuple((gone.index, str(gone.fault)) for gone in inventory.unreadable),
        resources=tuple(_resource(resource, check, health) for resource, check in standing.served),
        links=() if inventory is None else inventory.links,
    )


def _offers(resources: Iterable[Resource]) -> dict[str, tuple[tuple[str, int], ...]]:
    """Return under which resources each physical GPU is offered, and with how many devices or shares."""
    counts = Counter((device.physical, resource.name) for resource in resources for device in resource.devices)
    offers: dict[str, tuple[tuple[str, int], ...]] = {}
    for (uuid, name), count in sorted(counts.items()):
        offers[uuid] = (*offers.get(uuid, ()), (name, count))
    return offers


def _resource(resource: Resource, kubelet: Check, health: ShownHealth) -> ResourceView:
    groups: dict[str, list[Device]] = {}
    for device in resource.devices:
        groups.setdefault(device.uuid, []).append(device)
    return ResourceView(
        name=resource.name,
        sharing=resource.sharing.value,
        replicas=resource.replicas,
        devices=tuple(_device(devices, health) for devices in groups.values()),
        kubelet=kubelet,
    )


def _device(shares: list[Device], health: ShownHealth) -> DeviceView:
    first = shares[0]
    product = (first.gpu.name if first.gpu is not None else None) or ""
    return DeviceView(
        uuid=first.uuid,
        index=first.index,
        product=f"{product} MIG {first.mig.profile}" if first.mig is not None else product,
        ids=tuple(share.id for share in shares),
        health=health(first.uuid, first.gpu),
    )
