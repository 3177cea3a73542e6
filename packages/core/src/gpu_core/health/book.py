"""The health of a node's devices, as a value: what happened goes in, the next value and the changes come out.

Nothing here knows of clocks, threads or NVML. `now` is always in seconds of one clock that never goes back.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from gpu_core.config.words import RecoveryMode
from gpu_core.devices.backend import Answer, DeviceEvent, Probe, RecoveryAction, Watching
from gpu_core.devices.model import Fault, Gpu, Inventory
from gpu_core.health import what_helps
from gpu_core.health.ledger import Cause, DeviceHealth, Ledger, Transition, Unhealthy, dependence
from gpu_core.health.xids import Verdict, XidPolicy, verdict

Changed = tuple["HealthBook", tuple[Transition, ...]]

ACTIONS_THAT_STOP = frozenset(
    {
        RecoveryAction.RESET,
        RecoveryAction.REBOOT,
        RecoveryAction.DRAIN_AND_RESET,
        RecoveryAction.BUS_RESET,
        RecoveryAction.SYSTEM_REBOOT,
    }
)
"""After these the driver expects no new work on a GPU. What concerns its links to others leaves it usable."""

ENDING_BY_ITSELF = frozenset({Cause.SILENT, Cause.UNWATCHED, Cause.ACTION})
"""Causes that a GPU which answers, is watched and needs no recovery cannot have any more."""

_UNCHECKED = "unchecked"
"""The cause of being unhealthy before anything was found wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthRules:
    """What makes devices unhealthy; without `checks` only what cannot be read does. `quiet` is in seconds."""

    xids: XidPolicy
    recovery: RecoveryMode
    quiet: float
    checks: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthBook:
    """What is known of the health of each GPU and MIG device, by UUID; nothing before its first inventory.

    `watched` are the GPUs and MIG devices whose events are received, or which have none to receive. This is the only
    place that says so: what is not among them is unhealthy, and stays so. `quiet_since` tells since when a GPU
    that is unhealthy has answered every probe without a new fault and without asking for recovery. `recovery` is what
    the driver last asked for each GPU that answers, where it has a word for it.
    """

    rules: HealthRules
    started: float
    gpus: tuple[Gpu, ...] = ()
    ledger: Ledger = field(default_factory=Ledger)
    watched: frozenset[str] = frozenset()
    quiet_since: Mapping[str, float] = field(default_factory=dict)
    recovery: Mapping[str, RecoveryAction] = field(default_factory=dict)

    def state(self, uuid: str) -> DeviceHealth:
        """Return the health of a GPU or MIG device; one that was in no inventory so far is not healthy."""
        gpu = self._parent(uuid)
        if gpu is None:
            return DeviceHealth(
                healthy=False,
                reason="the driver does not know it",
                since=self.started,
                cause=_UNCHECKED,
                advice=what_helps.UNKNOWN,
            )
        health = self.ledger.health(*dependence(uuid, gpu), started=self.started)
        if health.healthy and self.rules.checks and not self.watched.issuperset({gpu.uuid, uuid}):
            return DeviceHealth(
                healthy=False,
                reason="its health events are not received yet",
                since=self.started,
                cause=_UNCHECKED,
                advice=what_helps.UNCHECKED,
            )
        return health

    def concerning(self, uuid: str) -> tuple[Unhealthy, ...]:
        """Return all that makes a GPU or MIG device unhealthy."""
        gpu = self._parent(uuid)
        return () if gpu is None else self.ledger.concerning(*dependence(uuid, gpu))

    def unhealthy(self) -> Iterator[tuple[str, str, Unhealthy]]:
        """Give everything that is wrong, GPU by GPU: the UUID, the index for people, and what it is."""
        for gpu in self.gpus:
            for uuid, index in ((gpu.uuid, str(gpu.index)), *((mig.uuid, mig.full_index) for mig in gpu.mig_devices)):
                for entry in self.ledger.unhealthy.get(uuid, ()):
                    yield uuid, index, entry

    def needs_watch(self, gpu: Gpu) -> bool:
        """Whether the events of a GPU, or of a MIG device of it, have to be asked for."""
        return not self.watched.issuperset(gpu.units)

    def verdict(self, event: DeviceEvent) -> Verdict:
        """Return what an event means here, for the log."""
        return verdict(event, self.gpus, self.rules.xids)

    def after_event(self, event: DeviceEvent, now: float) -> Changed:
        """Return the book after an event of the driver."""
        if not self.rules.checks:
            return self, ()
        verdict = self.verdict(event)
        return _unhealthy(self, verdict.unhealthy, Cause.XID, verdict.reason, now, advice=verdict.advice)

    def after_unwatched(self, fault: Fault | None, now: float) -> Changed:
        """Return the book after no events are received any more: no GPU is healthy until it is watched again.

        With the fault for which they could not be waited for, that makes each unhealthy, and takes quiet time. Without
        one nobody waits for them, for no fault of theirs, and each GPU that is watched again is as it was.
        """
        if fault is None:
            return (replace(self, watched=frozenset()) if self.watched else self), ()
        return _unheard(replace(self, watched=frozenset()), [gpu.uuid for gpu in self.gpus], fault, now)

    def after_answer(self, uuid: str, answer: Answer, now: float) -> Changed:
        """Return the book after one GPU was asked, perhaps for its events too."""
        if answer.watching is None:
            return self.after_probe(uuid, answer.probe, now)
        book, watched = self.after_watch(uuid, answer.watching, now)
        book, probed = book.after_probe(uuid, answer.probe, now)
        return book, (*watched, *probed)

    def after_watch(self, uuid: str, watching: Watching, now: float) -> Changed:
        """Return the book after the events of one GPU were asked for.

        A GPU that does not support events is healthy nevertheless: what can be asked of it is still asked by probes.
        """
        gpu = self._gpu(uuid)
        if not self.rules.checks or gpu is None:
            return self, ()
        if gpu.lost:
            # The answer is older than its loss, with which the driver forgot that anybody asked.
            return self, ()
        if isinstance(watching.gpu, Fault):
            return _unheard(_unwatched(self, gpu), [uuid], watching.gpu, now)
        book = replace(self, watched=self.watched.union(gpu.units).difference(watching.mig))
        transitions: list[Transition] = []
        for part, fault in watching.mig.items():
            book, changed = _unheard(book, [part], fault, now)
            transitions += changed
        book, changed = _read_again(book, gpu, now)
        return book, (*transitions, *changed)

    def after_probe(self, uuid: str, probe: Probe, now: float) -> Changed:
        """Return the book after one GPU was asked whether it answers and what recovery it needs."""
        gpu = self._gpu(uuid)
        if not self.rules.checks or gpu is None:
            return self, ()
        book = _asking(self, uuid, probe.recovery)
        if probe.fault is not None:
            # What does not answer may have left the driver, and come back without what was asked of it.
            reason = f"it does not answer: {probe.fault}"
            return _unhealthy(_unwatched(book, gpu), [uuid], Cause.SILENT, reason, now, advice=what_helps.SILENT)
        if probe.recovery in ACTIONS_THAT_STOP:
            reason, advice = f"the driver asks for recovery: {probe.recovery}", what_helps.after_asking(probe.recovery)
            return _unhealthy(book, [uuid], Cause.ACTION, reason, now, advice=advice)
        units = [unit for unit in gpu.units if unit in self.watched]
        if not self.ledger.any_unhealthy(gpu.units):
            return book, ()
        if probe.recovery not in (None, RecoveryAction.NONE):
            return replace(book, quiet_since=_restless(self, [uuid])), ()
        since = self.quiet_since.get(uuid, now)
        book = replace(book, quiet_since={**self.quiet_since, uuid: since})
        if uuid not in self.watched or now - since < self.rules.quiet:
            return book, ()
        reason = "it answers again" + ("" if probe.recovery is None else " and the driver asks for no recovery")
        ledger, transitions = self.ledger.clear(units, causes=self._clearable(probe), reason=reason, now=now)
        return replace(book, ledger=ledger), transitions

    def after_daemons(self, reasons: Mapping[str, str], now: float) -> Changed:
        """Return the book after the MPS control daemons were asked: by GPU, why it cannot be shared; all others can."""
        if not self.rules.checks:
            return self, ()
        ledger = self.ledger
        transitions: list[Transition] = []
        for gpu in self.gpus:
            reason = reasons.get(gpu.uuid)
            if reason is not None:
                ledger, changed = ledger.mark_unhealthy(
                    [gpu.uuid], cause=Cause.MPS, reason=reason, advice=what_helps.UNSHAREABLE, now=now
                )
            else:
                again = "its MPS control daemon works again"
                ledger, changed = ledger.clear([gpu.uuid], causes=[Cause.MPS], reason=again, now=now)
            transitions += changed
        return replace(self, ledger=ledger), tuple(transitions)

    def after_inventory(self, inventory: Inventory, now: float) -> Changed:
        """Return the book after the node was read again.

        GPUs and MIG devices that are gone are forgotten; all others keep what is known of them. What could not be read
        is unhealthy until it can be.
        """
        units = {unit for gpu in inventory.gpus for unit in gpu.units}
        book = replace(
            self,
            gpus=inventory.gpus,
            ledger=self.ledger.only(units),
            watched=self.watched & units,
            quiet_since={uuid: since for uuid, since in self.quiet_since.items() if uuid in units},
            recovery={uuid: action for uuid, action in self.recovery.items() if uuid in units},
        )
        transitions: list[Transition] = []
        for gpu in inventory.gpus:
            if gpu.lost:
                book = _asking(_unwatched(book, gpu), gpu.uuid, None)
            for uuid, faults in ((gpu.uuid, gpu.faults), *((mig.uuid, mig.faults) for mig in gpu.mig_devices)):
                if faults:
                    reason = f"it cannot be read: {faults[0]}"
                    ledger, changed = book.ledger.mark_unhealthy(
                        [uuid], cause=Cause.UNREADABLE, reason=reason, advice=what_helps.UNREADABLE, now=now
                    )
                    book = replace(book, ledger=ledger)
                    transitions += changed
            book, changed = _read_again(book, gpu, now)
            transitions += changed
        return book, tuple(transitions)

    def after_rules(self, rules: HealthRules, now: float) -> Changed:
        """Return the book under new rules. What is unhealthy stays so, except where health checks are turned off."""
        if rules.checks:
            return replace(self, rules=rules), ()
        ledger, transitions = self.ledger.clear(
            tuple(self.ledger.unhealthy),
            causes=set(Cause) - {Cause.UNREADABLE},
            reason="health checks were turned off",
            now=now,
        )
        return replace(self, rules=rules, ledger=ledger, watched=frozenset(), quiet_since={}, recovery={}), transitions

    def _gpu(self, uuid: str) -> Gpu | None:
        return next((gpu for gpu in self.gpus if gpu.uuid == uuid), None)

    def _parent(self, uuid: str) -> Gpu | None:
        return next((gpu for gpu in self.gpus if uuid in gpu.units), None)

    def _clearable(self, probe: Probe) -> Collection[Cause]:
        """Return what a good answer that lasted long enough takes away."""
        mode = self.rules.recovery
        if mode is RecoveryMode.OFF:
            return ()
        if probe.recovery is RecoveryAction.NONE or mode is RecoveryMode.PROBE:
            return {Cause.XID, *ENDING_BY_ITSELF}
        # Without the driver's word an XID may still be fatal, whatever the GPU answers.
        return ENDING_BY_ITSELF


def _unheard(book: HealthBook, uuids: Collection[str], fault: Fault, now: float) -> Changed:
    """Return the book after the events of some devices could not be received."""
    if not book.rules.checks:
        return book, ()
    reason = f"its health events cannot be received: {fault}"
    return _unhealthy(book, uuids, Cause.UNWATCHED, reason, now, advice=what_helps.UNWATCHED)


def _unwatched(book: HealthBook, gpu: Gpu) -> HealthBook:
    """Return the book in which the events of a GPU have to be asked for anew."""
    return replace(book, watched=book.watched.difference(gpu.units))


def _asking(book: HealthBook, uuid: str, action: RecoveryAction | None) -> HealthBook:
    """Return the book in which the driver asks for that recovery of a GPU; the same book where that is no news."""
    if book.recovery.get(uuid) is action:
        return book
    known = {known: asked for known, asked in book.recovery.items() if known != uuid}
    return replace(book, recovery=known if action is None else {**known, uuid: action})


def _unhealthy(
    book: HealthBook, uuids: Collection[str], cause: Cause, reason: str, now: float, *, advice: str
) -> Changed:
    ledger, transitions = book.ledger.mark_unhealthy(uuids, cause=cause, reason=reason, advice=advice, now=now)
    return replace(book, ledger=ledger, quiet_since=_restless(book, uuids)), transitions


def _read_again(book: HealthBook, gpu: Gpu, now: float) -> Changed:
    """Return the book without what could not be read of a GPU and now can be, unless nobody watches it yet."""
    faulty = {gpu.uuid: gpu.faults} | {mig.uuid: mig.faults for mig in gpu.mig_devices}
    watched = book.watched if book.rules.checks else faulty.keys()
    readable = [uuid for uuid, faults in faulty.items() if not faults and uuid in watched]
    ledger, transitions = book.ledger.clear(readable, causes=[Cause.UNREADABLE], reason="it can be read again", now=now)
    return replace(book, ledger=ledger), transitions


def _restless(book: HealthBook, uuids: Iterable[str]) -> Mapping[str, float]:
    """Return the quiet times without those of the GPUs behind some devices, which begin anew."""
    concerned = set(uuids)
    gpus = {gpu.uuid for gpu in book.gpus if not concerned.isdisjoint(gpu.units)}
    return {uuid: since for uuid, since in book.quiet_since.items() if uuid not in gpus}
