"""A node's GPUs as they are shown: plain values, gathered by the device plugin. Pure.

Times are seconds since 1970. Memory is in MiB.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpu_core.devices.model import PairLink
from gpu_core.runtime.probes import Check


@dataclass(frozen=True, slots=True, kw_only=True)
class CauseView:
    """One thing that is wrong: in one word, in words, since when (None for ever since), and what helps."""

    cause: str
    reason: str
    since: float | None
    advice: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthView:
    """Whether something is healthy, why it is or is not, and since when.

    `cause` is one word, and `advice` what helps, both empty while healthy; `also` is what came on top. `recovery` is
    the action that the driver asks for, in its word; None where it tells none. `changed` is false for what was healthy
    ever since we looked at it.
    """

    healthy: bool
    reason: str
    since: float
    cause: str = ""
    advice: str = ""
    also: tuple[CauseView, ...] = ()
    recovery: str | None = None
    changed: bool = True

    @property
    def causes(self) -> tuple[CauseView, ...]:
        """All that is wrong, the first first; nothing while healthy."""
        if self.healthy:
            return ()
        first = CauseView(cause=self.cause, reason=self.reason, since=self.since, advice=self.advice)
        return (first, *self.also)


def recovery_text(recovery: str | None) -> str:
    """Return the recovery action that the driver asks for, as a person reads it."""
    if recovery is None:
        return "not told by the driver"
    return "none" if recovery == "none" else f"{recovery}, as the driver asks"


@dataclass(frozen=True, slots=True, kw_only=True)
class MigView:
    """A MIG device. `index` is `<gpu>:<number>`."""

    index: str
    uuid: str
    profile: str
    memory_mib: int
    health: HealthView


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuView:
    """A GPU with its MIG devices, and under which resources it is offered, with how many shares of each."""

    index: int
    uuid: str
    product: str
    memory_mib: int | None
    pci_address: str
    numa_node: int | None
    mig_enabled: bool
    health: HealthView
    migs: tuple[MigView, ...] = ()
    offered: tuple[tuple[str, int], ...] = ()


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
