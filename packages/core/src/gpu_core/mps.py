"""The rules of sharing through CUDA MPS, held in common by the device plugin and the MPS control daemon.

Both programs compute the same plan from the same devices and config, so the plugin can tell from the digest in
the readiness file whether the daemons that run are the ones its config asks for.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass

from gpu_core.config.model import Config, ReplicatedResource
from gpu_core.config.words import SharingStrategy
from gpu_core.errors import MpsError
from gpu_core.resources.model import Device, Resource
from gpu_core.resources.names import shared_name

CONTAINER_ROOT = "/mps"
"""Where the shared MPS directory is mounted in our own containers and in those of clients."""

HEALTH_QUESTION = "get_default_active_thread_percentage"
"""A question that a working control daemon answers without side effect."""

_VOLTA = (7, 0)
_CLIENTS_BEFORE_VOLTA = 16
_CLIENTS_SINCE_VOLTA = 48
_BYTES_PER_MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class MpsRoot:
    """The layout of the shared directory, below `path` as seen by whoever asks."""

    path: str

    def pipe(self, resource: str) -> str:
        """Directory of the control pipe of a resource's daemon."""
        return self._below(resource, "pipe")

    def log(self, resource: str) -> str:
        """Directory of the daemon's logs."""
        return self._below(resource, "log")

    def started(self, resource: str) -> str:
        """File that exists while the daemon of a resource runs."""
        return self._below(resource, ".started")

    @property
    def shm(self) -> str:
        """The tmpfs that servers and clients share as /dev/shm."""
        return self._below("shm")

    @property
    def ready(self) -> str:
        """File that exists, holding the plan's digest, while every daemon of the plan runs."""
        return self._below(".ready")

    @property
    def compute_modes(self) -> str:
        """File that remembers the compute modes found before we changed them, for after a crash."""
        return self._below(".compute-modes.json")

    def _below(self, *parts: str) -> str:
        return "/".join([self.path.rstrip("/"), *parts])


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryLimit:
    """The pinned memory that one client may take on a daemon's n-th visible device, in MiB."""

    ordinal: int
    mib: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonPlan:
    """One control daemon: the GPUs it may see, in order, and the limits of its clients.

    `active_thread_percentage` None sets no limit. `unlimited` names the GPUs whose memory size is unknown, so
    that no limit can be set.
    """

    resource: str
    uuids: tuple[str, ...]
    replicas: int
    memory_limits: tuple[MemoryLimit, ...] = ()
    active_thread_percentage: float | None = None
    unlimited: tuple[str, ...] = ()

    def environment(self, root: MpsRoot) -> dict[str, str]:
        """Return the variables under which this daemon is asked."""
        return {
            "CUDA_MPS_LOG_DIRECTORY": root.log(self.resource),
            "CUDA_MPS_PIPE_DIRECTORY": root.pipe(self.resource),
        }

    def start_environment(self, root: MpsRoot) -> dict[str, str]:
        """Return the variables under which this daemon is started: its own GPUs are all it sees, numbered from 0."""
        return {**self.environment(root), "CUDA_VISIBLE_DEVICES": ",".join(self.uuids)}


def plan_daemons(resources: Iterable[Resource], config: Config) -> tuple[DaemonPlan, ...]:
    """Return one plan for each shared resource, sorted by name; nothing unless MPS is the sharing strategy.

    Raises MpsError when a shared resource holds MIG devices, or more replicas than a GPU takes clients.
    """
    if config.sharing.strategy is not SharingStrategy.MPS:
        return ()
    shared = [resource for resource in resources if resource.sharing is SharingStrategy.MPS and resource.devices]
    return tuple(_plan(resource, _entry(resource, config)) for resource in sorted(shared, key=lambda r: r.name))


def digest(plans: Iterable[DaemonPlan]) -> str:
    """Return a text that is equal exactly for equal plans."""
    document = json.dumps([asdict(plan) for plan in plans], sort_keys=True)
    return hashlib.sha256(document.encode()).hexdigest()


def max_clients(compute_capability: tuple[int, int] | None) -> int:
    """Return how many MPS clients a GPU takes: 48 since Volta (7.0), 16 before or when unknown."""
    if compute_capability is not None and compute_capability >= _VOLTA:
        return _CLIENTS_SINCE_VOLTA
    return _CLIENTS_BEFORE_VOLTA


def _plan(resource: Resource, entry: ReplicatedResource | None) -> DaemonPlan:
    migs = sorted(device.uuid for device in resource.devices if device.mig is not None)
    if migs:
        raise MpsError(
            f"{resource.name} cannot be shared through MPS: it holds the MIG devices {', '.join(dict.fromkeys(migs))}. "
            "Use time slicing for MIG devices, or turn MIG off on these GPUs."
        )
    wholes = _wholes(resource.devices)
    for device in wholes:
        _check_clients(resource, device)
    limits = [(ordinal, gpu, _memory_limit(gpu, resource.replicas, entry)) for ordinal, gpu in enumerate(wholes)]
    return DaemonPlan(
        resource=resource.name,
        uuids=tuple(device.uuid for device in wholes),
        replicas=resource.replicas,
        memory_limits=tuple(MemoryLimit(ordinal=ordinal, mib=mib) for ordinal, _, mib in limits if mib),
        active_thread_percentage=_thread_percentage(resource.replicas, entry),
        unlimited=tuple(gpu.uuid for _, gpu, mib in limits if mib is None),
    )


def _wholes(devices: Iterable[Device]) -> tuple[Device, ...]:
    """Return one share of each GPU, by index."""
    firsts: dict[str, Device] = {}
    for device in devices:
        firsts.setdefault(device.uuid, device)
    return tuple(sorted(firsts.values(), key=lambda device: int(device.index)))


def _check_clients(resource: Resource, device: Device) -> None:
    capability = device.gpu.compute_capability if device.gpu is not None else None
    most = max_clients(capability)
    if resource.replicas > most:
        raise MpsError(
            f"{resource.name} asks for {resource.replicas} replicas of GPU {device.index} ({device.uuid}), which takes "
            f"{most} MPS clients. Lower `replicas` to {most} or less."
        )


def _memory_limit(device: Device, replicas: int, entry: ReplicatedResource | None) -> int | None:
    """Return the limit in MiB, 0 for none wanted, None where the GPU's memory is unknown."""
    if entry is not None and entry.memory_limit_mib is not None:
        return entry.memory_limit_mib
    if device.gpu is None or not device.gpu.memory:
        return None
    share = device.gpu.memory // replicas
    factor = 1.0 if entry is None else entry.memory_factor
    return min(int(share * factor), device.gpu.memory) // _BYTES_PER_MIB


def _thread_percentage(replicas: int, entry: ReplicatedResource | None) -> float | None:
    if entry is None or entry.active_thread_percentage is None:
        return float(100 // replicas)
    return entry.active_thread_percentage or None


def _entry(resource: Resource, config: Config) -> ReplicatedResource | None:
    """Return the config entry that made this resource, by the name it is advertised under."""
    shared = config.sharing.replicated
    for entry in shared.resources:
        renamed = shared_name(entry.name) if shared.rename_by_default else entry.name
        if resource.name in (renamed, entry.rename if config.flags.custom_resources else renamed):
            return entry
    return None
