"""What must not be, whatever an NVML does: the laws that every trial is held to. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from fakes.nvml_matrix import ASIDE, FACTS, NODES, PROBED, SCANNED, Phase, Trial, victims
from fakes.nvml_trials import Outcome
from gpu_core.devices.simulated.commands import ALL
from gpu_core.devices.simulated.node import SimulatedNode

_TURN = 16.0
"""Seconds in which a start, a scan or a reload has to be through, also where the driver does not start."""

_STOP = 5.0
"""Seconds in which a program has to have ended."""


def violations(trial: Trial, outcome: Outcome) -> Iterator[str]:
    """Give what must not be, whatever a driver does."""
    simulated = NODES[trial.node]
    devices = victims(simulated, ALL)
    concerned = _devices_of(simulated, outcome.met)
    unhealthy = {device for device in devices if not outcome.during.get(device, False)}
    if outcome.errors:
        yield f"errors: {outcome.errors}"
    if outcome.stuck:
        yield f"threads that stay: {outcome.stuck}"
    if outcome.took > _TURN:
        yield f"a turn took {outcome.took} s"
    if outcome.stop > _STOP:
        yield f"stopping took {outcome.stop} s"
    if not outcome.ever <= devices:
        yield f"devices that are none: {sorted(outcome.ever - devices)}"
    if outcome.refused:
        yield f"healthy, and cannot be allocated: {len(outcome.refused)}"
    if trial.phase is not Phase.START:
        for name, picture in (("before", outcome.before), ("at once", outcome.at_once), ("later", outcome.during)):
            if picture.keys() != devices and not _empties(trial):
                yield f"devices withdrawn {name}: {sorted(devices - picture.keys())}"
        if not all(outcome.before.values()):
            yield "not in good order at the start"
    # Where the driver or its event set has failed as a whole, all are unhealthy until that is over.
    alone = trial.target != ALL and trial.phase not in (Phase.REOPEN, Phase.REWATCH)
    if alone and not unhealthy <= _spared(simulated, trial):
        yield f"neighbours that are unhealthy: {len(unhealthy - victims(simulated, trial.target))}"
    if trial.kind == "slow" and unhealthy and trial.phase not in (Phase.REOPEN, Phase.REWATCH):
        yield f"unhealthy for being a little slow: {len(unhealthy)}"
    if trial.phase is Phase.START and trial.kind.endswith("NOT_SUPPORTED"):
        concerned -= _without(simulated, trial.call)
    at_once = {device for device in concerned if outcome.at_once.get(device, False)}
    # A failure that was met once only may be made good by the second look of the same scan.
    scanned = trial.phase in (Phase.SCAN, Phase.RELOAD) and trial.call in SCANNED
    if scanned and not trial.kind.startswith("once") and at_once and _matters(trial):
        yield f"healthy at once: {len(at_once)}"
    if not trial.kind.startswith("once") and _matters(trial) and not concerned <= unhealthy:
        yield f"healthy: {len(concerned - unhealthy)}"
    last = victims(simulated, str(len(simulated.gpus) - 1))
    if not _deafens(trial) and any(outcome.after_xid.get(device) for device in last):
        yield "the neighbour's XID is not heard"
    if outcome.healed != dict.fromkeys(devices, True):
        missing = devices - outcome.healed.keys()
        yield f"not healthy again: {sum(not healthy for healthy in outcome.healed.values())}, missing: {len(missing)}"
    if any(outcome.after_xids.values()):
        yield f"XIDs not heard after healing: {sum(outcome.after_xids.values())}"


def _empties(trial: Trial) -> bool:
    """Whether a GPU says as clearly as it can that it has no MIG devices any more."""
    return trial.call == "DeviceGetMigDeviceHandleByIndex" and trial.kind in ("fail NOT_FOUND", "fail INVALID_ARGUMENT")


def _deafens(trial: Trial) -> bool:
    """Whether the driver says that there is nothing to hear from the last GPU."""
    unoffered = trial.call in ("DeviceGetSupportedEventTypes", "DeviceRegisterEvents")
    silent = trial.call == "EventSetWait" and trial.kind == "fail TIMEOUT"
    return silent or (unoffered and trial.target == ALL and trial.kind == "fail NOT_SUPPORTED")


def _matters(trial: Trial) -> bool:
    """Whether what a trial does to a call must make its devices unhealthy."""
    match trial.kind.split():
        case ["slow"]:
            return False
        case ["hang", "once"] if trial.call == "EventSetWait" and trial.phase in (Phase.REOPEN, Phase.REWATCH):
            # It may have met the event set that was given up anyway.
            return False
        case ["late"] if trial.call == "Init":
            # A driver without a persistence daemon wakes its GPUs first.
            return False
        case ["fail" | "once", "NOT_SUPPORTED"] if trial.call in PROBED:
            return False
        case ["fail" | "once", "TIMEOUT"] if trial.call == "EventSetWait":
            # So it answers when nothing has happened.
            return False
        case ["fail" | "once", _]:
            return trial.call not in FACTS
        case _:
            return trial.call not in ASIDE


def _without(simulated: SimulatedNode, call: str) -> frozenset[str]:
    """Return the devices that may do without what a call tells, when they never told it."""
    if call == "DeviceGetPciInfo":
        return victims(simulated, ALL)
    return frozenset(gpu.uuid for gpu in simulated.gpus) if call == "DeviceGetMigMode" else frozenset()


def _spared(simulated: SimulatedNode, trial: Trial) -> frozenset[str]:
    """Return the devices that may be unhealthy: those that are concerned, and where a call hangs, all of their GPU."""
    if trial.kind.startswith(("hang", "late", "gone")):
        return victims(simulated, trial.target.partition(":")[0])
    return victims(simulated, trial.target)


def _devices_of(simulated: SimulatedNode, met: frozenset[str | None]) -> frozenset[str]:
    """Return the devices of GPUs and MIG devices; all where a call concerns none."""
    found = set(victims(simulated, ALL) if None in met else ())
    for index, gpu in enumerate(simulated.gpus):
        if gpu.uuid in met:
            found |= victims(simulated, str(index))
        found |= {mig.uuid for mig in gpu.mig_devices if mig.uuid in met}
    return frozenset(found)
