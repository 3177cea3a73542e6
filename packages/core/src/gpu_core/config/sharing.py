"""The part of the configuration that tells which devices are shared, and in how many parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gpu_core.config.keys import Constraint, key
from gpu_core.config.words import AllocationPolicy, SharingStrategy

DeviceRefs = Literal["all"] | int | tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicatedResource:
    """One entry of `sharing.timeSlicing.resources` or `sharing.mps.resources`.

    One with a single replica shares nothing and counts as absent: people template the number.
    """

    name: str = key("name", "Resource whose devices are shared.", constraint=Constraint.RESOURCE_NAME)
    replicas: int = key(
        "replicas",
        "How many containers share a device; an entry with 1 counts as absent.",
        constraint=Constraint.REPLICAS,
    )
    rename: str | None = key(
        "rename", "Name under which the shares are advertised.", default=None, constraint=Constraint.RESOURCE_NAME
    )
    devices: DeviceRefs = key(
        "devices",
        "Which devices are shared: `all`, how many, or a list of indices (`0`, MIG `0:1`) and UUIDs.",
        default="all",
    )
    allocation_policy: AllocationPolicy | None = key(
        "allocationPolicy", "Policy of this resource, where it differs.", default=None, ours=True
    )
    memory_limit_mib: int | None = key(
        "memoryLimitMiB",
        "MPS: pinned device memory of one client in MiB; 0 for no limit. Default: memory x memoryFactor / replicas.",
        default=None,
        ours=True,
        constraint=Constraint.NOT_NEGATIVE,
    )
    memory_factor: float = key(
        "memoryFactor",
        "MPS: scales the default memory limit; 1.5 lets clients over-commit.",
        default=1.0,
        ours=True,
        constraint=Constraint.POSITIVE,
    )
    active_thread_percentage: float | None = key(
        "activeThreadPercentage",
        "MPS: share of a GPU's threads for one client in percent; 0 for no limit. Default: 100 / replicas.",
        default=None,
        ours=True,
        constraint=Constraint.PERCENTAGE,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicatedResources:
    """`sharing.timeSlicing` or `sharing.mps`."""

    rename_by_default: bool = key("renameByDefault", "Advertise shares as `<name>.shared`.", default=False)
    fail_requests_greater_than_one: bool | None = key(
        "failRequestsGreaterThanOne",
        "Refuse containers that ask for several shares. Default: true for MPS, false for time slicing.",
        default=None,
    )
    resources: tuple[ReplicatedResource, ...] = key(
        "resources", "What is shared, and in how many parts.", default=(), constraint=Constraint.NOT_EMPTY
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Sharing:
    """`sharing`: GPUs shared between containers. Where both are given, MPS is used.

    A section that shares nothing, since each of its entries has a single replica, counts as absent.
    """

    time_slicing: ReplicatedResources | None = key("timeSlicing", "Sharing by time slices.", default=None, exact=True)
    mps: ReplicatedResources | None = key("mps", "Sharing through CUDA MPS.", default=None, exact=True)

    @property
    def strategy(self) -> SharingStrategy:
        """The active strategy."""
        if _shares(self.mps):
            return SharingStrategy.MPS
        return SharingStrategy.TIME_SLICING if _shares(self.time_slicing) else SharingStrategy.NONE

    @property
    def replicated(self) -> ReplicatedResources:
        """The section of the active strategy as it was written; empty without one."""
        section = self.mps if _shares(self.mps) else self.time_slicing
        return section if section is not None and _shares(section) else ReplicatedResources()

    @property
    def entries(self) -> tuple[tuple[int, ReplicatedResource], ...]:
        """What the active strategy shares: the entries that count, each with its position in the section."""
        numbered = enumerate(self.replicated.resources)
        return tuple((number, entry) for number, entry in numbered if divides(entry.replicas))

    @property
    def fail_requests_greater_than_one(self) -> bool:
        """Whether a container may hold one share at most."""
        asked = self.replicated.fail_requests_greater_than_one
        return self.strategy is SharingStrategy.MPS if asked is None else asked


def divides(replicas: int) -> bool:
    """Whether so many replicas share a device; an entry with a single one counts as absent."""
    return replicas > 1


def _shares(section: ReplicatedResources | None) -> bool:
    return section is not None and any(divides(entry.replicas) for entry in section.resources)
