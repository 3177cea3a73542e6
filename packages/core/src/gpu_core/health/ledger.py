"""What is wrong with which device, and the last change of each."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from gpu_core.devices.model import Gpu


class Cause(StrEnum):
    """Why a GPU or MIG device is sick; each goes away on evidence of its own.

    An XID goes when the driver asks for no recovery, or never. Silence (no answer to a probe), blindness (its events
    cannot be watched) and a recovery action that the driver asks for go when they have ended. These four also take
    quiet time. What could not be read goes as soon as it can be read, what MPS cannot share as soon as it can.
    """

    XID = "xid"
    SILENT = "silent"
    UNWATCHED = "unwatched"
    ACTION = "action"
    UNREADABLE = "unreadable"
    MPS = "mps"


HARM = frozenset(Cause) - {Cause.UNREADABLE, Cause.UNWATCHED}
"""What a GPU that is served whole suffers from together with a MIG device of it.

Whoever gets the whole GPU needs no single MIG device to be found or read, and all its events come through the GPU.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ailment:
    """One thing that is wrong, in words that follow "because", and since when (seconds of the caller's clock).

    `advice` is what helps, in whole sentences.
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
    """Ailments and last transitions of GPUs and MIG devices, by UUID. Those that never had any are not in it."""

    ailments: Mapping[str, tuple[Ailment, ...]] = field(default_factory=dict)
    changes: Mapping[str, Transition] = field(default_factory=dict)

    def sicken(self, uuids: Iterable[str], *, cause: Cause, reason: str, advice: str, now: float) -> Changed:
        """Give each device an ailment, unless it has one of that cause already.

        XIDs are told apart, as each needs something else done; of one device as many as a person reads.
        """
        ailments, changes, transitions = dict(self.ailments), dict(self.changes), []
        for uuid in uuids:
            present = ailments.get(uuid, ())
            if _is_known(present, cause, reason):
                continue
            ailments[uuid] = (*present, Ailment(cause=cause, reason=reason, since=now, advice=advice))
            if not present:
                changes[uuid] = Transition(uuid=uuid, healthy=False, cause=cause, reason=reason, at=now, advice=advice)
                transitions.append(changes[uuid])
        return Ledger(ailments=ailments, changes=changes), tuple(transitions)

    def cure(self, uuids: Iterable[str], *, causes: Collection[Cause], reason: str, now: float) -> Changed:
        """Take the ailments of some causes from each device; one that has others as well stays sick."""
        ailments, changes, transitions = dict(self.ailments), dict(self.changes), []
        for uuid in uuids:
            present = ailments.pop(uuid, ())
            left = tuple(ailment for ailment in present if ailment.cause not in causes)
            if left:
                ailments[uuid] = left
            elif present:
                changes[uuid] = Transition(uuid=uuid, healthy=True, cause=present[0].cause, reason=reason, at=now)
                transitions.append(changes[uuid])
        return Ledger(ailments=ailments, changes=changes), tuple(transitions)

    def only(self, uuids: Collection[str]) -> Ledger:
        """Forget every device but these."""
        return Ledger(
            ailments={uuid: known for uuid, known in self.ailments.items() if uuid in uuids},
            changes={uuid: change for uuid, change in self.changes.items() if uuid in uuids},
        )

    def any_sick(self, uuids: Iterable[str]) -> bool:
        """Whether one of some devices has an ailment."""
        return any(uuid in self.ailments for uuid in uuids)

    def concerning(self, uuids: Iterable[str], parts: Iterable[str] = ()) -> tuple[Ailment, ...]:
        """Return what is wrong with what consists of some devices; of its `parts` only what harms a whole as well."""
        own = [ailment for uuid in uuids for ailment in self.ailments.get(uuid, ())]
        shared = [ailment for uuid in parts for ailment in self.ailments.get(uuid, ()) if ailment.cause in HARM]
        return (*own, *shared)

    def health(self, uuids: Collection[str], parts: Collection[str] = (), *, started: float) -> DeviceHealth:
        """Return the health of what consists of some devices: sick as its first ailment, else well as it last got."""
        ailments = self.concerning(uuids, parts)
        if ailments:
            first = min(ailments, key=lambda ailment: ailment.since)
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


def _is_known(present: Sequence[Ailment], cause: Cause, reason: str) -> bool:
    reasons = [ailment.reason for ailment in present if ailment.cause is cause]
    if cause is Cause.XID and len(reasons) < _MOST_XIDS:
        return reason in reasons
    return bool(reasons)


def dependence(uuid: str, gpu: Gpu) -> tuple[Collection[str], Collection[str]]:
    """Return the UUIDs on whose health that of a device depends: on all of it, and on what harms a whole as well.

    A MIG device is as sick as its GPU. A GPU that is given whole has no more to fear from a MIG device of it than the
    harm that comes to it.
    """
    if uuid != gpu.uuid:
        return (gpu.uuid, uuid), ()
    return (gpu.uuid,), gpu.units[1:]
