"""The health of a node's devices, as a value: what happened goes in, the next value and the changes come out.

Nothing here knows of clocks, threads or NVML. `now` is always in seconds of one clock that never goes back.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from gpu_core.config.words import RecoveryMode
from gpu_core.devices.events import DeviceEvent, Probe, RecoveryAction, Watch
from gpu_core.devices.model import Fault, Gpu, Inventory
from gpu_core.resources.ailments import Cause, DeviceHealth, Transition
from gpu_core.resources.ledger import Ledger
from gpu_core.resources.model import Device
from gpu_core.resources.verdict import Verdict, judge
from gpu_core.resources.xids import XidPolicy

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
"""What a GPU that answers, is watched and needs no recovery cannot suffer from any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthRules:
    """What makes devices sick and well. Without `checks` only what cannot be read is sick. `quiet` is in seconds."""

    xids: XidPolicy
    recovery: RecoveryMode
    quiet: float
    checks: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthBook:
    """What is known of the health of each GPU and MIG device, by UUID; nothing before its first inventory.

    `unwatched` are GPUs whose events would go unheard; none of them gets well. `well_since` tells since when a GPU with
    an ailment has answered every probe without a new fault and without asking for recovery.
    """

    rules: HealthRules
    started: float
    gpus: tuple[Gpu, ...] = ()
    ledger: Ledger = field(default_factory=Ledger)
    unwatched: frozenset[str] = frozenset()
    well_since: Mapping[str, float] = field(default_factory=dict)

    def state(self, device: Device) -> DeviceHealth:
        """Return the health of a device or share.

        A MIG device is as sick as its GPU; a whole GPU is as sick as any of its MIG devices. Devices of platforms
        without health checks are healthy; a device that was in no inventory so far is not.
        """
        if device.gpu is None:
            return DeviceHealth(healthy=True, reason="this platform has no health checks", since=self.started)
        gpu = self._gpu(device.physical)
        if gpu is None:
            return DeviceHealth(healthy=False, reason="it has not been checked yet", since=self.started)
        units = _units(gpu) if device.mig is None else (gpu.uuid, device.uuid)
        return self.ledger.health(units, started=self.started)

    def verdict(self, event: DeviceEvent) -> Verdict:
        """Return what an event means here, for the log."""
        return judge(event, self.gpus, self.rules.xids)

    def after_event(self, event: DeviceEvent, now: float) -> Changed:
        """Return the book after an event of the driver."""
        if not self.rules.checks:
            return self, ()
        verdict = self.verdict(event)
        return self._sicken(verdict.sick, Cause.XID, verdict.reason, now)

    def after_monitor_failure(self, fault: Fault, now: float) -> Changed:
        """Return the book after events could not be waited for: every GPU is sick until it is watched again."""
        return self._blind([gpu.uuid for gpu in self.gpus], fault, now)

    def after_watch(self, uuid: str, result: Watch | Fault, now: float) -> Changed:
        """Return the book after the events of one GPU were asked for.

        A GPU that does not support events is healthy nevertheless: what can be asked of it is still asked by probes.
        """
        if isinstance(result, Fault):
            return self._blind([uuid], result, now)
        return replace(self, unwatched=self.unwatched - {uuid}), ()

    def after_probe(self, uuid: str, probe: Probe, now: float) -> Changed:
        """Return the book after one GPU was asked whether it answers and what recovery it needs."""
        gpu = self._gpu(uuid)
        if not self.rules.checks or gpu is None:
            return self, ()
        if probe.fault is not None:
            return self._sicken([uuid], Cause.SILENT, f"it does not answer: {probe.fault}", now)
        if probe.recovery in ACTIONS_THAT_STOP:
            return self._sicken([uuid], Cause.ACTION, f"the driver asks for recovery: {probe.recovery}", now)
        units = _units(gpu)
        if not self.ledger.any_sick(units):
            return self, ()
        if probe.recovery not in (None, RecoveryAction.NONE):
            return replace(self, well_since=self._restless([uuid])), ()
        since = self.well_since.get(uuid, now)
        book = replace(self, well_since={**self.well_since, uuid: since})
        if uuid in self.unwatched or now - since < self.rules.quiet:
            return book, ()
        reason = "it answers again" + ("" if probe.recovery is None else " and the driver asks for no recovery")
        ledger, transitions = self.ledger.cure(units, causes=self._curable(probe), reason=reason, now=now)
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
                ledger, changed = ledger.sicken([gpu.uuid], cause=Cause.MPS, reason=reason, now=now)
            else:
                cured = "its MPS control daemon works again"
                ledger, changed = ledger.cure([gpu.uuid], causes=[Cause.MPS], reason=cured, now=now)
            transitions += changed
        return replace(self, ledger=ledger), tuple(transitions)

    def after_inventory(self, inventory: Inventory, now: float) -> Changed:
        """Return the book after the node was read again.

        GPUs and MIG devices that are gone are forgotten; all others keep what is known of them. What could not be read
        is sick until it can be.
        """
        faults: dict[str, tuple[Fault, ...]] = {}
        for gpu in inventory.gpus:
            faults |= {gpu.uuid: gpu.faults} | {mig.uuid: mig.faults for mig in gpu.mig_devices}
        ledger = self.ledger.only(faults)
        transitions: list[Transition] = []
        for uuid, present in faults.items():
            if present:
                reason = f"it cannot be read: {present[0]}"
                ledger, changed = ledger.sicken([uuid], cause=Cause.UNREADABLE, reason=reason, now=now)
            else:
                ledger, changed = ledger.cure([uuid], causes=[Cause.UNREADABLE], reason="it can be read again", now=now)
            transitions += changed
        book = replace(
            self,
            gpus=inventory.gpus,
            ledger=ledger,
            unwatched=self.unwatched & faults.keys(),
            well_since={uuid: since for uuid, since in self.well_since.items() if uuid in faults},
        )
        return book, tuple(transitions)

    def after_rules(self, rules: HealthRules, now: float) -> Changed:
        """Return the book under new rules. Sickness stays, except where health checks are turned off."""
        if rules.checks:
            return replace(self, rules=rules), ()
        ledger, transitions = self.ledger.cure(
            tuple(self.ledger.ailments),
            causes=set(Cause) - {Cause.UNREADABLE},
            reason="health checks were turned off",
            now=now,
        )
        return replace(self, rules=rules, ledger=ledger, unwatched=frozenset(), well_since={}), transitions

    def _gpu(self, uuid: str) -> Gpu | None:
        return next((gpu for gpu in self.gpus if gpu.uuid == uuid), None)

    def _blind(self, uuids: Collection[str], fault: Fault, now: float) -> Changed:
        if not self.rules.checks:
            return self, ()
        reason = f"its health events cannot be received: {fault}"
        book, transitions = self._sicken(uuids, Cause.UNWATCHED, reason, now)
        return replace(book, unwatched=self.unwatched.union(uuids)), transitions

    def _sicken(self, uuids: Collection[str], cause: Cause, reason: str, now: float) -> Changed:
        ledger, transitions = self.ledger.sicken(uuids, cause=cause, reason=reason, now=now)
        return replace(self, ledger=ledger, well_since=self._restless(uuids)), transitions

    def _restless(self, uuids: Iterable[str]) -> Mapping[str, float]:
        """Return the quiet times without those of the GPUs behind some devices, which begin anew."""
        concerned = set(uuids)
        gpus = {gpu.uuid for gpu in self.gpus if not concerned.isdisjoint(_units(gpu))}
        return {uuid: since for uuid, since in self.well_since.items() if uuid not in gpus}

    def _curable(self, probe: Probe) -> Collection[Cause]:
        """Return what a good answer that lasted long enough takes away."""
        mode = self.rules.recovery
        if mode is RecoveryMode.OFF:
            return ()
        if probe.recovery is RecoveryAction.NONE or mode is RecoveryMode.PROBE:
            return {Cause.XID, *ENDING_BY_ITSELF}
        # Without the driver's word an XID may still be fatal, whatever the GPU answers.
        return ENDING_BY_ITSELF


def _units(gpu: Gpu) -> tuple[str, ...]:
    """Return the UUIDs of a GPU and its MIG devices."""
    return (gpu.uuid, *(mig.uuid for mig in gpu.mig_devices))
