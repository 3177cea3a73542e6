"""Which MPS control daemons a node needs, with which limits.

The device plugin and the MPS control daemon compute the same plans from the same devices and config.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gpu_core.config.model import Config
from gpu_core.config.sharing import ReplicatedResource
from gpu_core.config.words import SharingStrategy
from gpu_core.errors import MpsError
from gpu_core.mps.control import MpsRoot
from gpu_core.resources.model import Device, Resource
from gpu_core.resources.names import advertised_name

_VOLTA = (7, 0)
_CLIENTS_BEFORE_VOLTA = 16
_CLIENTS_SINCE_VOLTA = 48
_BYTES_PER_MIB = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedGpu:
    """One GPU of a daemon. `memory_limit` is the pinned device memory of one client in MiB; None sets no limit."""

    uuid: str
    memory_limit: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonPlan:
    """One control daemon: the GPUs it may see, in order, and the limits of its clients.

    `active_thread_percentage` is one client's share of a GPU's threads; None sets no limit.
    """

    resource: str
    gpus: tuple[SharedGpu, ...]
    replicas: int
    active_thread_percentage: float | None = None

    @property
    def uuids(self) -> tuple[str, ...]:
        """The UUIDs of the GPUs, in order."""
        return tuple(gpu.uuid for gpu in self.gpus)

    def start_environment(self, root: MpsRoot) -> dict[str, str]:
        """Return the variables under which this daemon is started: its own GPUs are all it sees, numbered from 0."""
        return {**root.environment(self.resource), "CUDA_VISIBLE_DEVICES": ",".join(self.uuids)}


def plan_daemons(resources: Iterable[Resource], config: Config) -> tuple[DaemonPlan, ...]:
    """Return one plan for each shared resource, sorted by name; nothing unless MPS is the sharing strategy.

    GPUs that cannot be read are left out: CUDA would not show a daemon what comes behind them. The one device of
    platforms without UUIDs is planned for, since another daemon than ours may serve it. Raises MpsError when a shared
    resource holds MIG devices, or more replicas than a GPU takes clients.
    """
    if config.sharing.strategy is not SharingStrategy.MPS:
        return ()
    shared = [resource for resource in resources if resource.sharing is SharingStrategy.MPS]
    plans = (_plan(resource, _entry(resource, config)) for resource in sorted(shared, key=lambda one: one.name))
    return tuple(plan for plan in plans if plan.gpus)


def unlimited_gpus(resources: Iterable[Resource], plans: Iterable[DaemonPlan]) -> tuple[str, ...]:
    """Return the UUIDs of planned GPUs whose memory size is unknown, so that no limit follows from it, sorted."""
    planned = {gpu.uuid for plan in plans for gpu in plan.gpus if gpu.memory_limit is None}
    devices = (device for resource in resources for device in resource.devices)
    return tuple(
        sorted({device.uuid for device in devices if device.uuid in planned and not (device.gpu and device.gpu.memory)})
    )


def max_clients(compute_capability: tuple[int, int] | None) -> int:
    """Return how many MPS clients a GPU takes: 48 since Volta (7.0), 16 before or when unknown."""
    if compute_capability is not None and compute_capability >= _VOLTA:
        return _CLIENTS_SINCE_VOLTA
    return _CLIENTS_BEFORE_VOLTA


def _plan(resource: Resource, entry: ReplicatedResource | None) -> DaemonPlan:
    wholes = _wholes(resource)
    for device in wholes:
        _check_shareable(resource, device)
    return DaemonPlan(
        resource=resource.name,
        gpus=tuple(
            SharedGpu(uuid=device.uuid, memory_limit=_memory_limit(device, entry))
            for device in wholes
            if device.gpu is None or device.gpu.usable
        ),
        replicas=resource.replicas,
        active_thread_percentage=_thread_percentage(resource.replicas, entry),
    )


def _wholes(resource: Resource) -> tuple[Device, ...]:
    """Return one share of each shared GPU, in order; a resource may hold whole GPUs as well."""
    firsts: dict[str, Device] = {}
    for device in resource.devices:
        if device.replica is not None:
            firsts.setdefault(device.uuid, device)
    return tuple(firsts.values())


def _check_shareable(resource: Resource, device: Device) -> None:
    if device.mig is not None:
        migs = dict.fromkeys(other.uuid for other in resource.devices if other.mig is not None)
        raise MpsError(
            f"{resource.name} cannot be shared through MPS: it holds the MIG devices {', '.join(migs)}. Use time "
            "slicing for MIG devices, or turn MIG off on these GPUs."
        )
    if device.gpu is None or not device.gpu.usable:
        return
    most = max_clients(device.gpu.compute_capability)
    if device.replicas > most:
        raise MpsError(
            f"{resource.name} asks for {device.replicas} replicas of GPU {device.index} ({device.uuid}), which takes "
            f"{most} MPS clients. Lower `replicas` to {most} or less."
        )


def _memory_limit(device: Device, entry: ReplicatedResource | None) -> int | None:
    if entry is not None and entry.memory_limit_mib is not None:
        return entry.memory_limit_mib or None
    memory = device.gpu.memory if device.gpu is not None else None
    if not memory:
        return None
    factor = 1.0 if entry is None else entry.memory_factor
    return min(int(memory * factor) // device.replicas, memory) // _BYTES_PER_MIB or None


def _thread_percentage(replicas: int, entry: ReplicatedResource | None) -> float | None:
    if entry is None or entry.active_thread_percentage is None:
        return float(100 // replicas)
    return entry.active_thread_percentage or None


def _entry(resource: Resource, config: Config) -> ReplicatedResource | None:
    """Return the config entry that made this resource, by the name it is advertised under."""
    sharing = config.sharing
    for _, entry in sharing.entries:
        if advertised_name(entry, sharing.replicated, custom=config.flags.custom_resources) == resource.name:
            return entry
    return None
