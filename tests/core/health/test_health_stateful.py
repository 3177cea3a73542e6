"""Random histories of a node's health against a small reference model.

The suite runs as many histories as fit into the time of a test on a busy machine; HEALTH_HISTORIES sets another number,
and `make fuzz` asks for ten thousand.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Sequence

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from core.resources.asking import config_of
from core.resources.building import LOST, mig_device, mig_gpu, node_of, whole_gpu
from gpu_core.config.health import Health
from gpu_core.config.words import RecoveryMode, XidDefaults
from gpu_core.devices.backend import DeviceEvent, EventKind, Probe, RecoveryAction, Watch, Watching
from gpu_core.devices.model import Fault, Gpu, Inventory
from gpu_core.health.book import HealthBook, HealthRules
from gpu_core.health.xids import xid_policy
from gpu_core.resources.device_map import build_resources
from gpu_core.resources.model import Device

QUIET = 4
HISTORIES = int(os.environ.get("HEALTH_HISTORIES", "150"))
GOOD = [RecoveryAction.NONE] * 4 + [None] * 2
PROBES = st.one_of(
    st.sampled_from([Probe(fault=None, recovery=action) for action in [*GOOD, *RecoveryAction]]),
    st.just(Probe(fault=LOST, recovery=None)),
)
XIDS = [13, 94, 109, 154, 4711]
HARMLESS = {XidDefaults.ORIGINAL: {13, 109}, XidDefaults.CATALOGUE: {13, 94, 154}}
STOPPING = {
    RecoveryAction.RESET,
    RecoveryAction.REBOOT,
    RecoveryAction.DRAIN_AND_RESET,
    RecoveryAction.BUS_RESET,
    RecoveryAction.SYSTEM_REBOOT,
}


def _variant(number: int, shape: int, *, faulty: bool) -> Gpu:
    faults = (LOST,) if faulty else ()
    match shape:
        case 0:
            return whole_gpu(number, faults=faults)
        case 1:
            return mig_gpu(number, "1g.5gb", "2g.10gb", faults=faults)
        case _:
            parts = (
                mig_device(number, 0, "1g.5gb"),
                mig_device(number, 2, "3g.20gb", gpu_instance=1, compute_instance=1),
            )
            return mig_gpu(number, mig_devices=parts, faults=faults)


@st.composite
def nodes(draw: st.DrawFn) -> Inventory:
    numbers = draw(st.sets(st.integers(0, 1), min_size=1))
    return node_of(
        *(_variant(number, draw(st.integers(0, 2)), faulty=draw(st.integers(0, 9)) == 0) for number in sorted(numbers))
    )


class Model:
    """The rules of health said once more, plainly: what is wrong with whom, and since when all is quiet."""

    def __init__(self, mode: RecoveryMode, policy: XidDefaults) -> None:
        self.mode = mode
        self.policy = policy
        self.checks = True
        self.node = node_of()
        self.wrong: dict[str, set[str]] = defaultdict(set)
        self.quiet: dict[str, int] = {}
        self.heard: set[str] = set()
        self.asked: dict[str, RecoveryAction] = {}

    def read(self, node: Inventory) -> None:
        self.node = node
        units = {uuid for gpu in node.gpus for uuid in self.units(gpu)}
        for store in (self.wrong, self.quiet):
            for uuid in set(store) - units:
                del store[uuid]
        self.heard &= units
        self.asked = {uuid: action for uuid, action in self.asked.items() if uuid in units}
        for gpu in node.gpus:
            if gpu.faults:
                self.heard -= set(self.units(gpu))
                self.asked.pop(gpu.uuid, None)
                self.wrong[gpu.uuid].add("unreadable")
            self.readable(gpu)

    def readable(self, gpu: Gpu) -> None:
        for uuid in self.units(gpu):
            if not (gpu.faults and uuid == gpu.uuid) and (uuid in self.heard or not self.checks):
                self.wrong[uuid].discard("unreadable")

    def watch(self, gpu: Gpu, watching: Watching) -> None:
        if not self.checks or gpu.lost:
            return
        if isinstance(watching.gpu, Fault):
            self.deaf([gpu])
            return
        self.heard |= set(self.units(gpu))
        for uuid in watching.mig:
            self.heard.discard(uuid)
            self.wrong[uuid].add("unwatched")
            self.quiet.pop(gpu.uuid, None)
        self.readable(gpu)

    @staticmethod
    def units(gpu: Gpu) -> list[str]:
        return [gpu.uuid] + [mig.uuid for mig in gpu.mig_devices]

    def event(self, event: DeviceEvent) -> None:
        if not self.checks or event.kind is not EventKind.XID or event.data in HARMLESS[self.policy]:
            return
        for gpu in self.node.gpus:
            if event.gpu_uuid not in (None, gpu.uuid):
                continue
            if (
                event.gpu_uuid is None
                or (event.gpu_instance, event.compute_instance) == (None, None)
                or not gpu.mig_devices
            ):
                hit = [gpu.uuid]
            else:
                hit = [
                    mig.uuid
                    for mig in gpu.mig_devices
                    if event.gpu_instance in (None, mig.gpu_instance)
                    and event.compute_instance in (None, mig.compute_instance)
                ]
            for uuid in hit:
                self.wrong[uuid].add("xid")
                self.quiet.pop(gpu.uuid, None)

    def deaf(self, gpus: Sequence[Gpu]) -> None:
        for gpu in gpus if self.checks else ():
            self.wrong[gpu.uuid].add("unwatched")
            self.heard -= set(self.units(gpu))
            self.quiet.pop(gpu.uuid, None)

    def probe(self, gpu: Gpu, probe: Probe, now: int) -> None:
        if not self.checks:
            return
        self.asked.pop(gpu.uuid, None)
        if probe.recovery is not None:
            self.asked[gpu.uuid] = probe.recovery
        if probe.fault or probe.recovery in STOPPING:
            self.wrong[gpu.uuid].add("silent" if probe.fault else "action")
            if probe.fault:
                self.heard -= set(self.units(gpu))
            self.quiet.pop(gpu.uuid, None)
        elif probe.recovery not in (None, RecoveryAction.NONE):
            self.quiet.pop(gpu.uuid, None)
        elif any(self.wrong[uuid] for uuid in self.units(gpu)):
            start = self.quiet.setdefault(gpu.uuid, now)
            if now - start >= QUIET and gpu.uuid in self.heard and self.mode is not RecoveryMode.OFF:
                for uuid in self.heard.intersection(self.units(gpu)):
                    self.wrong[uuid] -= {"silent", "action", "unwatched"}
                    if probe.recovery is not None or self.mode is RecoveryMode.PROBE:
                        self.wrong[uuid].discard("xid")

    def switch(self, *, checks: bool) -> None:
        self.checks = checks
        if not checks:
            for causes in self.wrong.values():
                causes &= {"unreadable"}
            self.quiet.clear()
            self.heard.clear()
            self.asked.clear()

    def healthy(self, device: Device) -> bool:
        gpu = next(gpu for gpu in self.node.gpus if gpu.uuid == device.physical)
        if self.checks and not {gpu.uuid, device.uuid} <= self.heard:
            return False
        if device.mig is not None:
            return not (self.wrong[gpu.uuid] or self.wrong[device.uuid])
        harm = [self.wrong[mig.uuid] - {"unreadable", "unwatched"} for mig in gpu.mig_devices]
        return not (self.wrong[gpu.uuid] or any(harm))


class Histories(RuleBasedStateMachine):
    @initialize(node=nodes(), mode=st.sampled_from(RecoveryMode), policy=st.sampled_from(XidDefaults))
    def start(self, node: Inventory, mode: RecoveryMode, policy: XidDefaults) -> None:
        self.now = 0
        self.mode = mode
        self.model = Model(mode, policy)
        self.model.read(node)
        self.advertise()
        self.book, _ = HealthBook(rules=self.rules_now(checks=True), started=0).after_inventory(node, 0)

    def rules_now(self, *, checks: bool) -> HealthRules:
        policy, _ = xid_policy(Health(xid_policy=self.model.policy), disable=None, enable=None)
        return HealthRules(xids=policy, recovery=self.mode, quiet=QUIET, checks=checks)

    def uuid(self, number: int) -> str:
        gpus = self.model.node.gpus
        return gpus[number % len(gpus)].uuid

    @rule(seconds=st.integers(1, 4))
    def time_passes(self, seconds: int) -> None:
        self.now += seconds

    @rule(
        number=st.one_of(st.none(), st.integers(0, 1)),
        stranger=st.integers(0, 9).map(lambda chance: chance == 0),
        kind=st.sampled_from([EventKind.XID] * 4 + [EventKind.DOUBLE_BIT_ECC]),
        xid=st.sampled_from([79, 79, 79, *XIDS]),
        gi=st.one_of(st.none(), st.integers(1, 3)),
        ci=st.one_of(st.none(), st.integers(0, 1)),
    )
    def event(
        self, *, number: int | None, stranger: bool, kind: EventKind, xid: int, gi: int | None, ci: int | None
    ) -> None:
        uuid = None if number is None else "GPU-unknown" if stranger else self.uuid(number)
        event = DeviceEvent(kind=kind, gpu_uuid=uuid, data=xid, gpu_instance=gi, compute_instance=ci)
        self.model.event(event)
        self.book, _ = self.book.after_event(event, self.now)

    @rule(number=st.integers(0, 1), probe=PROBES, repeats=st.integers(1, 4))
    def probe(self, number: int, probe: Probe, repeats: int) -> None:
        uuid = self.uuid(number)
        gpu = next(gpu for gpu in self.model.node.gpus if gpu.uuid == uuid)
        for _ in range(repeats):
            self.now += 1
            self.model.probe(gpu, probe, self.now)
            self.book, _ = self.book.after_probe(uuid, probe, self.now)

    @rule()
    def monitor_fails(self) -> None:
        self.model.deaf(self.model.node.gpus)
        self.book, _ = self.book.after_unwatched(Fault(call="EventSetWait", code="UNKNOWN"), self.now)

    @rule(
        number=st.integers(0, 1),
        result=st.sampled_from([Watch.WATCHED] * 4 + [Watch.UNSUPPORTED, LOST]),
        deaf=st.integers(0, 4).map(lambda chance: chance == 0),
    )
    def watch(self, number: int, result: Watch | Fault, *, deaf: bool) -> None:
        gpus = self.model.node.gpus
        gpu = gpus[number % len(gpus)]
        watching = Watching(gpu=result, mig={mig.uuid: LOST for mig in gpu.mig_devices[:1]} if deaf else {})
        self.model.watch(gpu, watching)
        self.book, _ = self.book.after_watch(gpu.uuid, watching, self.now)

    @precondition(lambda self: self.now % 3 == 0)
    @rule(node=nodes())
    def read(self, node: Inventory) -> None:
        self.model.read(node)
        self.advertise()
        self.book, _ = self.book.after_inventory(node, self.now)

    @precondition(lambda self: self.now % 5 == 0)
    @rule(checks=st.booleans(), policy=st.sampled_from(XidDefaults))
    def reload(self, *, checks: bool, policy: XidDefaults) -> None:
        self.model.policy = policy
        self.model.switch(checks=checks)
        self.book, _ = self.book.after_rules(self.rules_now(checks=checks), self.now)

    def advertise(self) -> None:
        self.devices = [
            device
            for mig in ("none", "mixed")
            for resource in build_resources(self.model.node, config_of(mig=mig))[0]
            for device in resource.devices
        ]

    @invariant()
    def states_are_equal(self) -> None:
        states = [self.book.state(device.uuid).healthy for device in self.devices]
        assert states == [self.model.healthy(device) for device in self.devices]

    @invariant()
    def what_the_driver_asks_for_is_known(self) -> None:
        assert self.book.recovery == self.model.asked

    @invariant()
    def whatever_is_unhealthy_comes_with_what_helps(self) -> None:
        states = [self.book.state(device.uuid) for device in self.devices]
        assert [bool(state.advice) for state in states] == [not state.healthy for state in states]


TestHistories = Histories.TestCase
TestHistories.settings = settings(max_examples=HISTORIES, stateful_step_count=30, deadline=None)
