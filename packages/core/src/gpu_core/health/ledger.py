"""What is wrong with which device, and the last change of each."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from gpu_core.devices.model import Gpu


class Cause(StrEnum):
    """Why a GPU or MIG device is unhealthy; each goes away on evidence of its own.

    An XID goes when the driver asks for no recovery, or never. Silence (no answer to a probe), not being watched
    (its events cannot be received) and a recovery action that the driver asks for go when they have ended. These four
    also take quiet time. What could not be read goes as soon as it can be read, what MPS cannot share as soon as it
    can.
    """

    XID = "xid"
    SILENT = "silent"
    UNWATCHED = "unwatched"
    ACTION = "action"
    UNREADABLE = "unreadable"
    MPS = "mps"


HARM = frozenset(Cause) - {Cause.UNREADABLE, Cause.UNWATCHED}
"""What makes a GPU that is served whole unhealthy together with a MIG device of it.

Whoever gets the whole GPU needs no single MIG device to be found or read, and all its events come through the GPU.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unhealthy:
    """One thing that makes a device unhealthy: the reason in words that follow "because", and since when.

    `since` is in seconds of the caller's clock; `advice` is what helps, in whole sentences.
    """

    cause: Cause
    reason: str
    since: float
    advice: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceHealth:
    """The health of one device: why it is unhealthy and what helps, or why it is healthy again, and since when.

    `cause` is what made it unhealthy first, in one word; empty while it is healthy.
    """

    healthy: bool
    reason: str
    since: float
    cause: str = ""
    advice: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition:
    """A GPU or MIG device whose own health changed.

    The MIG devices of a GPU change with it and are not told apart. `cause` is what made it unhealthy, also when it is
    healthy again; `advice` is what helps, empty then.
    """

    uuid: str
    healthy: bool
    cause: Cause
    reason: str
    at: float
    advice: str = ""


_MOST_XIDS = 8

Changed = tuple["Ledger", tuple[Transition, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """Why GPUs and MIG devices are unhealthy, and the last transition of each, by UUID. Others are not in it."""

    unhealthy: Mapping[str, tuple[Unhealthy, ...]] = field(default_factory=dict)
    changes: Mapping[str, Transition] = field(default_factory=dict)

    def mark_unhealthy(self, uuids: Iterable[str], *, cause: Cause, reason: str, advice: str, now: float) -> Changed:
        """Note that each device is unhealthy, unless it is so for that cause already.

        XIDs are told apart, as each needs something else done; of one device as many as a person reads.
        """
        unhealthy, changes, transitions = dict(self.unhealthy), dict(self.changes), []
        for uuid in uuids:
            present = unhealthy.get(uuid, ())
            if _is_known(present, cause, reason):
                continue
            unhealthy[uuid] = (*present, Unhealthy(cause=cause, reason=reason, since=now, advice=advice))
            if not present:
                changes[uuid] = Transition(uuid=uuid, healthy=False, cause=cause, reason=reason, at=now, advice=advice)
                transitions.append(changes[uuid])
        return Ledger(unhealthy=unhealthy, changes=changes), tuple(transitions)

    def clear(self, uuids: Iterable[str], *, causes: Collection[Cause], reason: str, now: float) -> Changed:
        """Clear some causes of each device; one that has others as well stays unhealthy."""
        unhealthy, changes, transitions = dict(self.unhealthy), dict(self.changes), []
        for uuid in uuids:
            present = unhealthy.pop(uuid, ())
            left = tuple(entry for entry in present if entry.cause not in causes)
            if left:
                unhealthy[uuid] = left
            elif present:
                changes[uuid] = Transition(uuid=uuid, healthy=True, cause=present[0].cause, reason=reason, at=now)
                transitions.append(changes[uuid])
        return Ledger(unhealthy=unhealthy, changes=changes), tuple(transitions)

    def only(self, uuids: Collection[str]) -> Ledger:
        """Forget every device but these."""
        return Ledger(
            unhealthy={uuid: known for uuid, known in self.unhealthy.items() if uuid in uuids},
            changes={uuid: change for uuid, change in self.changes.items() if uuid in uuids},
        )

    def any_unhealthy(self, uuids: Iterable[str]) -> bool:
        """Whether something is wrong with one of some devices."""
        return any(uuid in self.unhealthy for uuid in uuids)

    def concerning(self, uuids: Iterable[str], parts: Iterable[str] = ()) -> tuple[Unhealthy, ...]:
        """Return what is wrong with what consists of some devices; of its `parts` only what harms a whole as well."""
        own = [entry for uuid in uuids for entry in self.unhealthy.get(uuid, ())]
        shared = [entry for uuid in parts for entry in self.unhealthy.get(uuid, ()) if entry.cause in HARM]
        return (*own, *shared)

    def health(self, uuids: Collection[str], parts: Collection[str] = (), *, started: float) -> DeviceHealth:
        """Return the health of what consists of some devices: why it was unhealthy first, else healthy again last."""
        present = self.concerning(uuids, parts)
        if present:
            first = min(present, key=lambda entry: entry.since)
            return DeviceHealth(
                healthy=False, reason=first.reason, since=first.since, cause=first.cause.value, advice=first.advice
            )
        own = [self.changes[uuid] for uuid in uuids if uuid in self.changes]
        shared = [self.changes[uuid] for uuid in parts if uuid in self.changes]
        changes = [*own, *(change for change in shared if change.cause in HARM)]
        if not changes:
            return DeviceHealth(healthy=True, reason="it was in order from the start", since=started)
        last = max(changes, key=lambda change: change.at)
        return DeviceHealth(healthy=True, reason=last.reason, since=last.at)


def _is_known(present: Sequence[Unhealthy], cause: Cause, reason: str) -> bool:
    reasons = [entry.reason for entry in present if entry.cause is cause]
    if cause is Cause.XID and len(reasons) < _MOST_XIDS:
        return reason in reasons
    return bool(reasons)


def dependence(uuid: str, gpu: Gpu) -> tuple[Collection[str], Collection[str]]:
    """Return the UUIDs on whose health that of a device depends: on all of it, and on what harms a whole as well.

    A MIG device is unhealthy with its GPU. A GPU that is given whole has no more to fear from a MIG device of it than
    the harm that comes to it.
    """
    if uuid != gpu.uuid:
        return (gpu.uuid, uuid), ()
    return (gpu.uuid,), gpu.units[1:]
