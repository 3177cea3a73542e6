"""The state machine of device health, one rule at a time."""

from __future__ import annotations

from typing import Any

import pytest

from core.resources.asking import config_of, entry, time_slicing
from core.resources.building import LOST, mig_device, mig_gpu, node_of, whole_gpu
from gpu_core.config.model import Health
from gpu_core.config.words import RecoveryMode
from gpu_core.devices.events import DeviceEvent, EventKind, Probe, RecoveryAction, Watch
from gpu_core.devices.model import Inventory, Platform
from gpu_core.resources.ailments import Cause, DeviceHealth, Transition
from gpu_core.resources.device_map import build_resources
from gpu_core.resources.health import HealthBook, HealthRules
from gpu_core.resources.model import Device
from gpu_core.resources.verdict import Verdict
from gpu_core.resources.xids import XidPolicy

WELL = Probe(fault=None, recovery=RecoveryAction.NONE)
MUTE = Probe(fault=None, recovery=None)
GONE = Probe(fault=LOST, recovery=None)
OFF = XidPolicy(ignored_all=True)


def asks_for(action: RecoveryAction) -> Probe:
    return Probe(fault=None, recovery=action)


def xid(number: int = 79, gpu: str | None = "GPU-0", *, gi: int | None = None, ci: int | None = None) -> DeviceEvent:
    return DeviceEvent(kind=EventKind.XID, gpu_uuid=gpu, data=number, gpu_instance=gi, compute_instance=ci)


def rules(*, recovery: RecoveryMode = RecoveryMode.DRIVER, quiet: float = 60, policy: XidPolicy | None = None) -> Any:
    policy = policy or XidPolicy()
    return HealthRules(xids=policy, recovery=recovery, quiet=quiet, checks=not policy.checks_nothing)


def book_of(node: Inventory, **more: Any) -> HealthBook:
    return HealthBook.open(node, rules(**more), 0)[0]


def sick(book: HealthBook, node: Inventory, *, mig: str = "mixed", shares: bool = False) -> list[str]:
    """Return the ids of all sick devices of a node as it is advertised."""
    names = ("nvidia.com/gpu", "nvidia.com/mig-1g.5gb")
    sharing = time_slicing(*(entry(name, 2) for name in names)) if shares else None
    resources, _ = build_resources(node, config_of(mig=mig, sharing=sharing))
    return [device.id for resource in resources for device in resource.devices if not book.state(device).healthy]


TWO = node_of(whole_gpu(0), whole_gpu(1))
PARTED = node_of(
    mig_gpu(
        0,
        mig_devices=(
            mig_device(0, 0, "1g.5gb", gpu_instance=7),
            mig_device(0, 1, "1c.3g.20gb", gpu_instance=2),
            mig_device(0, 2, "1c.3g.20gb", gpu_instance=2, compute_instance=1),
        ),
    ),
    whole_gpu(1),
)
FIRST = Device(id="GPU-0", uuid="GPU-0", index="0", gpu=whole_gpu(0))


@pytest.mark.parametrize(
    ("node", "event", "ids"),
    [
        pytest.param(TWO, xid(), ["GPU-0"], id="an XID concerns its GPU"),
        pytest.param(TWO, xid(gpu="GPU-1"), ["GPU-1"], id="and no other"),
        pytest.param(TWO, xid(13), [], id="an ignored XID concerns none"),
        pytest.param(TWO, xid(gpu=None), ["GPU-0", "GPU-1"], id="an XID on a GPU that cannot be told concerns all"),
        pytest.param(TWO, xid(13, None), [], id="unless it is ignored"),
        pytest.param(TWO, xid(gpu="GPU-9"), [], id="an unknown GPU concerns none"),
        pytest.param(TWO, xid(gi=1, ci=0), ["GPU-0"], id="an instance on an undivided GPU concerns the GPU"),
        pytest.param(
            PARTED, xid(), ["MIG-0-0", "MIG-0-1", "MIG-0-2"], id="an XID without instances concerns all MIG devices"
        ),
        pytest.param(PARTED, xid(gi=7, ci=0), ["MIG-0-0"], id="both instances name one MIG device"),
        pytest.param(PARTED, xid(gi=2, ci=1), ["MIG-0-2"], id="even beside another in the same GPU instance"),
        pytest.param(PARTED, xid(gi=2), ["MIG-0-1", "MIG-0-2"], id="a GPU instance alone names all within it"),
        pytest.param(
            PARTED, xid(ci=0), ["MIG-0-0", "MIG-0-1"], id="a compute instance alone names each of that number"
        ),
        pytest.param(PARTED, xid(gi=5, ci=0), [], id="an instance without MIG device concerns none"),
        pytest.param(
            TWO, DeviceEvent(kind=EventKind.DOUBLE_BIT_ECC, gpu_uuid="GPU-0", data=1), [], id="ECC events concern none"
        ),
    ],
)
def test_an_event_makes_sick(node: Inventory, event: DeviceEvent, ids: list[str]) -> None:
    book, _ = book_of(node).after_event(event, 5)
    assert sick(book, node) == ids


@pytest.mark.parametrize(
    ("node", "mig", "event", "ids"),
    [
        pytest.param(TWO, "none", xid(), ["GPU-0::0", "GPU-0::1"], id="every share of a GPU"),
        pytest.param(PARTED, "mixed", xid(gi=7), ["MIG-0-0::0", "MIG-0-0::1"], id="every share of a MIG device"),
        pytest.param(PARTED, "none", xid(gi=7), ["GPU-0::0", "GPU-0::1"], id="the whole GPU where MIG is not served"),
    ],
)
def test_shares_are_sick_together(node: Inventory, mig: str, event: DeviceEvent, ids: list[str]) -> None:
    book, _ = book_of(node).after_event(event, 5)
    assert sick(book, node, mig=mig, shares=True) == ids


@pytest.mark.parametrize(
    ("event", "verdict"),
    [
        pytest.param(
            xid(13), Verdict(reason="XID 13 (Graphics engine exception) is ignored"), id="that an XID is ignored"
        ),
        pytest.param(
            DeviceEvent(kind=EventKind.SINGLE_BIT_ECC, gpu_uuid="GPU-0", data=1),
            Verdict(reason="single-bit-ecc events do not change health"),
            id="that a kind of event is not judged",
        ),
        pytest.param(
            xid(gpu="GPU-9"),
            Verdict(reason="XID 79 (GPU has fallen off the bus) occurred on GPU-9, which is not managed here"),
            id="that a GPU is unknown",
        ),
        pytest.param(
            xid(gi=5),
            Verdict(
                reason="XID 79 (GPU has fallen off the bus) occurred on an instance of GPU-0 that has no MIG device"
            ),
            id="that an instance is unknown",
        ),
        pytest.param(
            xid(gi=7),
            Verdict(sick=("MIG-0-0",), reason="XID 79 (GPU has fallen off the bus) occurred on this MIG device"),
            id="which device is sick",
        ),
    ],
)
def test_a_verdict_says_for_the_log(event: DeviceEvent, verdict: Verdict) -> None:
    assert book_of(PARTED).verdict(event) == verdict


def test_a_change_is_told_once_with_reason_and_time() -> None:
    book, first = book_of(TWO).after_event(xid(), 5)
    book, second = book.after_event(xid(48), 6)
    reason = "XID 79 (GPU has fallen off the bus) occurred"
    assert first == (Transition(uuid="GPU-0", healthy=False, cause=Cause.XID, reason=reason, at=5),)
    assert second == ()
    assert book.state(FIRST) == DeviceHealth(healthy=False, reason=reason, since=5)


def run(book: HealthBook, *probes: Probe, step: float = 10) -> list[bool]:
    """Probe the first GPU every `step` seconds; return whether it is healthy after each probe."""
    seen = []
    for number, probe in enumerate(probes, 1):
        book, _ = book.after_probe("GPU-0", probe, 100 + number * step)
        seen.append(book.state(FIRST).healthy)
    return seen


RESET = asks_for(RecoveryAction.RESET)


@pytest.mark.parametrize(
    ("more", "probes", "healthy"),
    [
        pytest.param(
            {"quiet": 0}, [RESET, RESET, GONE, WELL], [False, False, False, True], id="recovery needs the driver's word"
        ),
        pytest.param({"quiet": 20}, [WELL, WELL, WELL], [False, False, True], id="and quiet time"),
        pytest.param({"quiet": 20}, [WELL, GONE, WELL, WELL, WELL], [False] * 4 + [True], id="silence begins it anew"),
        pytest.param({"quiet": 20}, [WELL, RESET, WELL, WELL, WELL], [False] * 4 + [True], id="so does a wanted reset"),
        pytest.param(
            {"quiet": 20},
            [WELL, asks_for(RecoveryAction.DRAIN_P2P), WELL, WELL, WELL],
            [False] * 4 + [True],
            id="so does a lesser action",
        ),
        pytest.param(
            {"quiet": 0}, [asks_for(RecoveryAction.UNKNOWN)] * 3, [False] * 3, id="an unknown action keeps sick"
        ),
        pytest.param({"quiet": 0}, [MUTE] * 3, [False] * 3, id="without the driver's field an XID stays until restart"),
        pytest.param(
            {"quiet": 0, "recovery": RecoveryMode.PROBE}, [MUTE], [True], id="unless the answers shall suffice"
        ),
        pytest.param({"quiet": 0, "recovery": RecoveryMode.OFF}, [WELL], [False], id="recovery can be turned off"),
    ],
)
def test_a_gpu_with_an_xid_gets_well(more: dict[str, Any], probes: list[Probe], healthy: list[bool]) -> None:
    book, _ = book_of(TWO, **more).after_event(xid(), 100)
    assert run(book, *probes) == healthy


def test_an_event_during_quiet_time_begins_it_anew() -> None:
    book, _ = book_of(TWO, quiet=20).after_event(xid(), 0)
    book, _ = book.after_probe("GPU-0", WELL, 10)
    book, _ = book.after_event(xid(48), 20)
    book, _ = book.after_probe("GPU-0", WELL, 30)
    assert not book.state(FIRST).healthy
    book, _ = book.after_probe("GPU-0", WELL, 50)
    assert book.state(FIRST).healthy


def test_recovery_is_told_with_reason_and_time() -> None:
    book, _ = book_of(TWO, quiet=0).after_event(xid(), 5)
    book, transitions = book.after_probe("GPU-0", WELL, 7)
    reason = "it answers again and the driver asks for no recovery"
    assert transitions == (Transition(uuid="GPU-0", healthy=True, cause=Cause.XID, reason=reason, at=7),)
    assert book.state(FIRST) == DeviceHealth(healthy=True, reason=reason, since=7)


def test_a_mig_device_gets_well_with_its_gpu() -> None:
    book, _ = book_of(PARTED, quiet=0).after_event(xid(gi=7), 5)
    book, transitions = book.after_probe("GPU-0", WELL, 7)
    assert [(change.uuid, change.healthy) for change in transitions] == [("MIG-0-0", True)]
    assert sick(book, PARTED) == []


@pytest.mark.parametrize(
    ("probes", "healthy"),
    [
        pytest.param([MUTE, WELL], [True, True], id="an answer keeps healthy"),
        pytest.param([GONE], [False], id="no answer makes sick without an event"),
        pytest.param([GONE, MUTE, MUTE, MUTE], [False, False, False, True], id="answers make well on any driver"),
        pytest.param([RESET], [False], id="a wanted reset makes sick"),
        pytest.param([asks_for(RecoveryAction.REBOOT)], [False], id="a wanted reboot does"),
        pytest.param([asks_for(RecoveryAction.DRAIN_AND_RESET)], [False], id="a wanted draining does"),
        pytest.param([RESET, WELL, WELL, WELL], [False, False, False, True], id="until it is done"),
        pytest.param([asks_for(RecoveryAction.DRAIN_P2P)], [True], id="less than that does not"),
        pytest.param([asks_for(RecoveryAction.UNKNOWN)], [True], id="nor does a new word of the driver"),
    ],
)
def test_a_probe_makes_sick_and_well(probes: list[Probe], healthy: list[bool]) -> None:
    assert run(book_of(TWO, quiet=20), *probes) == healthy


def test_nothing_gets_well_unwatched() -> None:
    book, transitions = book_of(TWO, quiet=0).after_monitor_failure(LOST, 5)
    assert [change.uuid for change in transitions] == ["GPU-0", "GPU-1"]
    again, repeated = book.after_monitor_failure(LOST, 6)
    assert (again, repeated) == (book, ())
    book, _ = book.after_probe("GPU-0", WELL, 10)
    assert sick(book, TWO) == ["GPU-0", "GPU-1"]
    book, _ = book.after_watch("GPU-0", Watch.WATCHED, 20)
    book, _ = book.after_probe("GPU-0", WELL, 20)
    assert sick(book, TWO) == ["GPU-1"]


def test_a_gpu_that_cannot_be_watched_is_sick() -> None:
    book, _ = book_of(TWO).after_watch("GPU-1", LOST, 5)
    assert sick(book, TWO) == ["GPU-1"]
    assert book.state(Device(id="GPU-1", uuid="GPU-1", index="1", gpu=whole_gpu(1))) == DeviceHealth(
        healthy=False, reason=f"its health events cannot be received: {LOST}", since=5
    )


def test_a_gpu_without_events_is_healthy() -> None:
    book, _ = book_of(TWO).after_watch("GPU-1", Watch.UNSUPPORTED, 5)
    assert sick(book, TWO) == []


def test_what_cannot_be_read_is_sick_until_it_can_be() -> None:
    node = node_of(whole_gpu(0, faults=(LOST,)), whole_gpu(1))
    book, transitions = HealthBook.open(node, rules(), 1)
    reason = f"it cannot be read: {LOST}"
    assert transitions == (Transition(uuid="GPU-0", healthy=False, cause=Cause.UNREADABLE, reason=reason, at=1),)
    book, _ = book.after_probe("GPU-0", WELL, 1_000)
    assert sick(book, node) == ["GPU-0"]
    book, _ = book.after_inventory(TWO, 2_000)
    assert sick(book, TWO) == []


def test_a_mig_device_that_cannot_be_read_leaves_its_neighbours_alone() -> None:
    parts = (mig_device(0, 0, "1g.5gb", faults=(LOST,)), mig_device(0, 1, "1g.5gb"))
    node = node_of(mig_gpu(0, mig_devices=parts))
    assert sick(book_of(node), node) == ["MIG-0-0"]


def test_a_device_with_two_ailments_needs_both_to_go() -> None:
    faulty = node_of(whole_gpu(0, faults=(LOST,)), whole_gpu(1))
    book, _ = book_of(TWO, quiet=0).after_event(xid(), 1)
    book, _ = book.after_inventory(faulty, 2)
    book, transitions = book.after_probe("GPU-0", WELL, 3)
    assert (sick(book, TWO), transitions) == (["GPU-0"], ())
    book, transitions = book.after_inventory(TWO, 4)
    assert (sick(book, TWO), [change.healthy for change in transitions]) == ([], [True])


def test_sickness_stays_with_a_device_that_stays() -> None:
    book, _ = book_of(PARTED).after_event(xid(gpu="GPU-1"), 1)
    book, _ = book.after_event(xid(gi=7), 2)
    smaller = node_of(mig_gpu(0, "1g.5gb"), whole_gpu(1), whole_gpu(2))
    book, transitions = book.after_inventory(smaller, 3)
    assert (sick(book, smaller), transitions) == (["GPU-1", "MIG-0-0"], ())


def test_what_is_gone_is_forgotten() -> None:
    book, _ = book_of(TWO).after_event(xid(), 1)
    book, _ = book.after_inventory(node_of(whole_gpu(1)), 2)
    book, _ = book.after_inventory(TWO, 3)
    assert sick(book, TWO) == []


def test_a_reload_keeps_sickness() -> None:
    book, _ = book_of(TWO).after_event(xid(), 1)
    book, transitions = book.after_rules(rules(quiet=5), 2)
    assert (sick(book, TWO), transitions, book.rules.quiet) == (["GPU-0"], (), 5)


def test_turning_checks_off_makes_healthy_what_can_be_read() -> None:
    node = node_of(whole_gpu(0), whole_gpu(1, faults=(LOST,)))
    book, _ = book_of(node).after_event(xid(gpu=None), 1)
    book, transitions = book.after_rules(rules(policy=OFF), 2)
    assert sick(book, node) == ["GPU-1"]
    reason = "health checks were turned off"
    assert transitions == (Transition(uuid="GPU-0", healthy=True, cause=Cause.XID, reason=reason, at=2),)


def test_without_checks_nothing_but_reading_counts() -> None:
    book = book_of(TWO, policy=OFF)
    assert book.after_event(xid(), 1) == (book, ())
    assert book.after_probe("GPU-0", GONE, 1) == (book, ())
    assert book.after_monitor_failure(LOST, 1) == (book, ())
    assert book.after_watch("GPU-0", LOST, 1) == (book, ())


def test_a_probe_of_a_gpu_that_is_gone_says_nothing() -> None:
    book = book_of(TWO)
    assert book.after_probe("GPU-9", GONE, 1) == (book, ())


@pytest.mark.parametrize("platform", [Platform.TEGRA, Platform.WSL])
def test_devices_of_platforms_without_checks_are_healthy(platform: Platform) -> None:
    node = node_of(whole_gpu(0), platform=platform)
    (resource,), _ = build_resources(node, config_of())
    assert book_of(node).state(resource.devices[0]) == DeviceHealth(
        healthy=True, reason="this platform has no health checks", since=0
    )


def test_a_device_is_not_healthy_before_its_node_was_read() -> None:
    stranger = Device(id="GPU-9", uuid="GPU-9", index="9", gpu=whole_gpu(9))
    assert book_of(TWO).state(stranger) == DeviceHealth(healthy=False, reason="it has not been checked yet", since=0)


def test_a_device_that_never_was_sick_is_healthy_since_the_start() -> None:
    assert book_of(TWO).state(FIRST) == DeviceHealth(healthy=True, reason="it was in order from the start", since=0)


def test_the_rules_are_those_of_the_config() -> None:
    assert HealthRules.of(Health(recovery=RecoveryMode.PROBE), OFF) == HealthRules(
        xids=OFF, recovery=RecoveryMode.PROBE, quiet=60, checks=False
    )
