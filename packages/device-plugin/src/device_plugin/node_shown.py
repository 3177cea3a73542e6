"""What is shown of the node: the plugin's own values turned into those of the status page. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from device_plugin.standing import Standing, checks
from gpu_core.config.dump import config_text
from gpu_core.devices.model import WITHOUT_HEALTH_CHECKS, Gpu
from gpu_core.health.book import HealthBook
from gpu_core.health.ledger import DeviceHealth
from gpu_core.page.node_view import (
    CauseView,
    ConfigView,
    DeviceView,
    GpuView,
    HealthView,
    MigView,
    NodeView,
    ResourceView,
)
from gpu_core.resources.model import Device, Resource
from gpu_core.runtime.probes import Check

_BYTES_PER_MIB = 1 << 20

Health = Callable[[str, Gpu | None], HealthView]
"""Gives what is shown of the health of a GPU or MIG device, by its UUID and the GPU behind it."""


def node_view(standing: Standing, *, node: str, version: str, now: float, clock: float) -> NodeView:
    """Return the node as it is shown.

    `now` is in seconds since 1970, `clock` the same moment by the clock of the health book.
    """
    inventory = standing.inventory
    unwatched = inventory is not None and inventory.platform in WITHOUT_HEALTH_CHECKS
    health = _health(standing.book, now - clock, unwatched=unwatched)
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
        gpus=tuple(_gpu(gpu, health, offers) for gpu in gpus),
        unreadable=() if inventory is None else tuple((gone.index, str(gone.fault)) for gone in inventory.unreadable),
        resources=tuple(_resource(resource, check, health) for resource, check in standing.served),
        links=() if inventory is None else inventory.links,
    )


def _health(book: HealthBook, offset: float, *, unwatched: bool) -> Health:
    without_checks = DeviceHealth(healthy=True, reason="this platform has no health checks", since=book.started)

    def health(uuid: str, gpu: Gpu | None) -> HealthView:
        state = without_checks if unwatched or gpu is None else book.state(uuid)
        later = sorted(book.ailments(uuid), key=lambda ailment: ailment.since)[1:]
        return HealthView(
            healthy=state.healthy,
            reason=state.reason,
            since=state.since + offset,
            cause=state.cause,
            advice=state.advice,
            also=tuple(
                CauseView(
                    cause=ailment.cause.value,
                    reason=ailment.reason,
                    since=ailment.since + offset,
                    advice=ailment.advice,
                )
                for ailment in later
            ),
            recovery=None if gpu is None else book.recovery.get(gpu.uuid),
            changed=state.since != book.started,
        )

    return health


def _offers(resources: Iterable[Resource]) -> dict[str, tuple[tuple[str, int], ...]]:
    """Return under which resources each physical GPU is offered, and with how many devices or shares."""
    counts = Counter((device.physical, resource.name) for resource in resources for device in resource.devices)
    offers: dict[str, tuple[tuple[str, int], ...]] = {}
    for (uuid, name), count in sorted(counts.items()):
        offers[uuid] = (*offers.get(uuid, ()), (name, count))
    return offers


def _gpu(gpu: Gpu, health: Health, offers: dict[str, tuple[tuple[str, int], ...]]) -> GpuView:
    return GpuView(
        index=gpu.index,
        uuid=gpu.uuid,
        product=gpu.name or "unknown product",
        memory_mib=None if gpu.memory is None else gpu.memory // _BYTES_PER_MIB,
        pci_address=gpu.pci.address if gpu.pci is not None else gpu.pci_bus_id or "",
        numa_node=gpu.numa_node,
        mig_enabled=bool(gpu.mig_enabled),
        health=health(gpu.uuid, gpu),
        migs=tuple(
            MigView(
                index=mig.full_index,
                uuid=mig.uuid,
                profile=mig.profile,
                memory_mib=mig.attributes.memory_mib,
                health=health(mig.uuid, gpu),
            )
            for mig in gpu.mig_devices
        ),
        offered=offers.get(gpu.uuid, ()),
    )


def _resource(resource: Resource, kubelet: Check, health: Health) -> ResourceView:
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


def _device(shares: list[Device], health: Health) -> DeviceView:
    first = shares[0]
    product = (first.gpu.name if first.gpu is not None else None) or ""
    return DeviceView(
        uuid=first.uuid,
        index=first.index,
        product=f"{product} MIG {first.mig.profile}" if first.mig is not None else product,
        ids=tuple(share.id for share in shares),
        health=health(first.uuid, first.gpu),
    )
