"""A node's GPUs as they are shown: what they are, and how they are. Pure.

Times are seconds since 1970. Memory is in MiB.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gpu_core.devices.model import Gpu
from gpu_core.health.book import HealthBook
from gpu_core.health.ledger import DeviceHealth
from gpu_core.health.what_helps import UNREADABLE

_BYTES_PER_MIB = 1 << 20


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


ShownHealth = Callable[[str, Gpu | None], HealthView]
"""Gives what is shown of the health of a GPU or MIG device, by its UUID and the GPU behind it."""


def shown_health(book: HealthBook, offset: float, *, unwatched: bool) -> ShownHealth:
    """Return what tells of health as a book knows it.

    `offset` leads from its clock to seconds since 1970; `unwatched` tells that the platform has no health checks.
    """
    without_checks = DeviceHealth(healthy=True, reason="this platform has no health checks", since=book.started)

    def health(uuid: str, gpu: Gpu | None) -> HealthView:
        state = without_checks if unwatched or gpu is None else book.state(uuid)
        later = sorted(book.concerning(uuid), key=lambda entry: entry.since)[1:]
        return HealthView(
            healthy=state.healthy,
            reason=state.reason,
            since=state.since + offset,
            cause=state.cause,
            advice=state.advice,
            also=tuple(
                CauseView(
                    cause=entry.cause.value,
                    reason=entry.reason,
                    since=entry.since + offset,
                    advice=entry.advice,
                )
                for entry in later
            ),
            recovery=None if gpu is None else book.recovery.get(gpu.uuid),
            changed=state.since != book.started,
        )

    return health


def gpu_view(gpu: Gpu, health: ShownHealth, offered: tuple[tuple[str, int], ...] = ()) -> GpuView:
    """Return a GPU as it is shown; `offered` are the resources that it is part of, with its devices in each."""
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
        offered=offered,
    )


def whole_causes(gpu: GpuView) -> tuple[CauseView, ...]:
    """Return what is wrong with the whole of a GPU, and so with each MIG device of it, not with one of them alone."""
    return tuple(cause for cause in gpu.health.causes if all(cause in mig.health.causes for mig in gpu.migs))


def unreadable(reason: str) -> CauseView:
    """Return what is wrong with a GPU that never answered in full, and so is not served."""
    return CauseView(
        cause="unreadable",
        reason=f"it never answered in full and is not served: {reason}",
        since=None,
        advice=UNREADABLE,
    )
