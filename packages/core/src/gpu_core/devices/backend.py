"""A backend: an open way to read the node's GPUs, and what it reports about them: events, and answers to a probe."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from gpu_core.devices.model import Fault, Gpu, Inventory, Platform


class EventKind(StrEnum):
    """The NVML event types that are watched where a GPU supports them."""

    XID = "xid"
    DOUBLE_BIT_ECC = "double-bit-ecc"
    SINGLE_BIT_ECC = "single-bit-ecc"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceEvent:
    """One event from the driver.

    `gpu_uuid` is None when the driver did not say which GPU it was. `data` is the XID's number for XID events.
    `gpu_instance` and `compute_instance` are set only where the event concerns that part of a MIG GPU.
    """

    kind: EventKind
    gpu_uuid: str | None
    data: int
    gpu_instance: int | None = None
    compute_instance: int | None = None


class Watch(StrEnum):
    """How a GPU takes being watched for events."""

    WATCHED = "watched"
    UNSUPPORTED = "unsupported"


class RecoveryAction(StrEnum):
    """NVML's recovery action field (value 230): what the driver wants done before the GPU is used again."""

    NONE = "none"
    RESET = "reset"
    REBOOT = "reboot"
    DRAIN_P2P = "drain-p2p"
    DRAIN_AND_RESET = "drain-reset"
    RECOVER_IMEX_DOMAIN = "recover-imex-domain"
    BUS_RESET = "bus-reset"
    SYSTEM_REBOOT = "system-reboot"
    UNKNOWN = "unknown"


RECOVERY_ACTIONS = {
    0: RecoveryAction.NONE,
    1: RecoveryAction.RESET,
    2: RecoveryAction.REBOOT,
    3: RecoveryAction.DRAIN_P2P,
    4: RecoveryAction.DRAIN_AND_RESET,
    5: RecoveryAction.RECOVER_IMEX_DOMAIN,
    6: RecoveryAction.BUS_RESET,
    7: RecoveryAction.SYSTEM_REBOOT,
}
"""The actions by NVML's numbers (NVML_GPU_RECOVERY_ACTION_*); any other number is an unknown action."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """A GPU's answer to being asked. `recovery` is None on drivers without that field."""

    fault: Fault | None
    recovery: RecoveryAction | None

    @property
    def answers(self) -> bool:
        """Whether the GPU answered."""
        return self.fault is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Watching:
    """Whether a GPU's events will be received, and of which of its MIG devices they cannot be told, by UUID."""

    gpu: Watch | Fault
    mig: Mapping[str, Fault] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """All that a GPU said when it was asked. `watching` is None where its events were asked for before."""

    watching: Watching | None = None
    probe: Probe


class HealthMonitor(Protocol):
    """An open source of events. One thread waits and another asks; it is closed before the backend is."""

    def ask(self, gpu: Gpu, *, watch: bool) -> Answer:
        """Ask one GPU, by UUID, whether it answers and what recovery it needs; with `watch` first for its events.

        A GPU that has become another for the driver since then, as one that came back, is asked for them anyway.
        """

    def wait(self, timeout: float) -> DeviceEvent | None:
        """Wait at most `timeout` seconds for an event; raise NvmlCallError when waiting fails."""

    def close(self) -> None:
        """Give the event set back, as soon as nobody is asking. Nobody may be waiting any more."""


class Backend(Protocol):
    """What every backend offers. `read` may be called any number of times until `close`."""

    @property
    def platform(self) -> Platform:
        """The interface behind this backend."""

    def read(self, *, links: bool = False) -> Inventory:
        """Read every GPU now, and with `links` how they are connected; faults of one GPU stay its own."""

    def monitor(self) -> HealthMonitor | None:
        """Open the source of health events; None on platforms without one. Raises NvmlCallError."""

    def close(self) -> None:
        """Release the driver. Every monitor has to be closed before."""
