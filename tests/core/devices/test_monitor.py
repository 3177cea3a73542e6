"""Events and probes of simulated GPUs, through the real NVML binding."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from core.devices.nodes import node, opened, say, topology
from fakes.patience import PATIENCE
from gpu_core.devices.backend import DeviceEvent, EventKind, HealthMonitor, Probe, RecoveryAction, Watch, Watching
from gpu_core.devices.driver_threads import DriverThreads
from gpu_core.devices.model import Fault, Gpu
from gpu_core.devices.nvml.monitor import NvmlMonitor
from gpu_core.devices.nvml.reader import NvmlBackend
from gpu_core.devices.simulated.backend import SimulatedFiles
from gpu_core.devices.simulated.library import SimulatedLibrary
from gpu_core.devices.simulated.state import SimulatedState
from gpu_core.errors import NvmlCallError

GPUS = {"gpus": [{"model": "A100-SXM4-40GB", "count": 2, "recovery": "none"}]}


def watch(monitor: HealthMonitor, gpu: Gpu) -> Watch | Fault:
    """Ask for a GPU's events."""
    watching = monitor.ask(gpu, watch=True).watching
    assert watching is not None
    return watching.gpu


def probe(monitor: HealthMonitor, gpu: Gpu) -> Probe:
    """Ask a GPU whether it answers."""
    return monitor.ask(gpu, watch=False).probe


class Recorded(SimulatedLibrary):
    """A library that notes which calls are made."""

    def __init__(self, state: SimulatedState) -> None:
        super().__init__(state)
        self.made: list[str] = []

    def call(self, call: str, args: tuple[Any, ...]) -> int:
        """Note a call, and make it."""
        self.made.append(call)
        return super().call(call, args)


@pytest.fixture
def events(tmp_path: Path) -> Path:
    """Return an empty file of things that happen."""
    path = tmp_path / "events"
    path.touch()
    return path


@pytest.fixture
def watched(events: Path) -> Iterator[tuple[HealthMonitor, tuple[Gpu, ...]]]:
    """Watch two GPUs."""
    with opened(node(GPUS), events) as backend:
        gpus = backend.read().gpus
        monitor = backend.monitor()
        assert monitor is not None
        assert [watch(monitor, gpu) for gpu in gpus] == [Watch.WATCHED, Watch.WATCHED]
        yield monitor, gpus
        monitor.close()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param("xid=79", {"kind": EventKind.XID, "data": 79}, id="an XID of the whole GPU"),
        pytest.param(
            "xid=94 gi=7 ci=0",
            {"kind": EventKind.XID, "data": 94, "gpu_instance": 7, "compute_instance": 0},
            id="an XID of a MIG device",
        ),
        pytest.param(
            "xid=94 gi=7", {"kind": EventKind.XID, "data": 94, "gpu_instance": 7}, id="an XID of a GPU instance"
        ),
        pytest.param("type=2 data=1", {"kind": EventKind.DOUBLE_BIT_ECC, "data": 1}, id="a double-bit ECC error"),
        pytest.param("type=1 data=3", {"kind": EventKind.SINGLE_BIT_ECC, "data": 3}, id="a single-bit ECC error"),
    ],
)
def test_an_event_arrives(
    watched: tuple[HealthMonitor, tuple[Gpu, ...]], events: Path, line: str, expected: dict[str, object]
) -> None:
    monitor, gpus = watched
    say(events, f"event 1 {line}")
    assert monitor.wait(PATIENCE) == DeviceEvent(gpu_uuid=gpus[1].uuid, **expected)  # type: ignore[arg-type]
    assert monitor.wait(0) is None


def test_an_event_for_all_gpus_arrives_once_for_each(
    watched: tuple[HealthMonitor, tuple[Gpu, ...]], events: Path
) -> None:
    monitor, gpus = watched
    say(events, "event * xid=48")
    arrived = [monitor.wait(PATIENCE) for _ in gpus]
    assert [event and event.gpu_uuid for event in arrived] == [gpu.uuid for gpu in gpus]


def test_an_event_names_a_gpu_that_cannot_tell_its_uuid_any_more(
    watched: tuple[HealthMonitor, tuple[Gpu, ...]], events: Path
) -> None:
    monitor, gpus = watched
    say(events, "fail DeviceGetUUID * UNKNOWN", "event 1 xid=79")
    assert monitor.wait(PATIENCE) == DeviceEvent(kind=EventKind.XID, gpu_uuid=gpus[1].uuid, data=79)


@pytest.mark.parametrize(("line", "told"), [("heal *", True), ("fail DeviceGetUUID * UNKNOWN", False)])
def test_an_event_of_a_gpu_under_another_handle_is_told_by_its_uuid_or_not_at_all(
    watched: tuple[HealthMonitor, tuple[Gpu, ...]], events: Path, line: str, *, told: bool
) -> None:
    monitor, gpus = watched
    assert isinstance(monitor, NvmlMonitor)
    monitor._names.clear()
    say(events, line, "event 0 xid=79")
    expected = gpus[0].uuid if told else None
    assert monitor.wait(PATIENCE) == DeviceEvent(kind=EventKind.XID, gpu_uuid=expected, data=79)


def test_a_gpu_that_came_back_is_asked_for_its_events_again(
    watched: tuple[HealthMonitor, tuple[Gpu, ...]], events: Path
) -> None:
    monitor, gpus = watched
    assert monitor.ask(gpus[0], watch=False).watching is None
    say(events, "remove 0", "add 0")
    assert monitor.ask(gpus[0], watch=False).watching == Watching(gpu=Watch.WATCHED)
    say(events, "event 0 xid=79")
    assert monitor.wait(PATIENCE) == DeviceEvent(kind=EventKind.XID, gpu_uuid=gpus[0].uuid, data=79)


def test_no_handle_is_kept_of_a_gpu_that_has_another_one(
    watched: tuple[HealthMonitor, tuple[Gpu, ...]], events: Path
) -> None:
    monitor, gpus = watched
    assert isinstance(monitor, NvmlMonitor)
    for _ in range(20):
        say(events, "remove 0", "add 0")
        monitor.ask(gpus[0], watch=False)
    assert sorted(monitor._names.values()) == sorted(gpu.uuid for gpu in gpus)


@pytest.mark.parametrize("call", ["DeviceGetSupportedEventTypes", "DeviceRegisterEvents"])
def test_a_gpu_that_denied_to_have_events_is_asked_for_them_again(
    watched: tuple[HealthMonitor, tuple[Gpu, ...]], events: Path, call: str
) -> None:
    monitor, gpus = watched
    say(events, "remove 0", "add 0", f"fail {call} 0 NOT_SUPPORTED count=1")
    asked = [monitor.ask(gpus[0], watch=False).watching for _ in range(3)]
    assert asked == [Watching(gpu=Watch.UNSUPPORTED), Watching(gpu=Watch.WATCHED), None]


@pytest.mark.parametrize(
    ("name", "lost"),
    [
        pytest.param("a100-mig-mixed", True, id="by its UUID"),
        pytest.param("a100-mig-legacy", False, id="unless the UUID carries its place"),
    ],
)
def test_a_mig_device_is_looked_up(events: Path, name: str, *, lost: bool) -> None:
    say(events, "fail DeviceGetHandleByUUID 0:1 GPU_IS_LOST")
    with opened(topology(name), events) as backend:
        gpu = backend.read().gpus[0]
        monitor = backend.monitor()
        assert monitor is not None
        watching = monitor.ask(gpu, watch=True).watching
        monitor.close()
    fault = Fault(call="DeviceGetHandleByUUID", code="GPU_IS_LOST")
    assert watching == Watching(gpu=Watch.WATCHED, mig={gpu.mig_devices[1].uuid: fault} if lost else {})


def test_a_type_that_nobody_asked_for_does_not_arrive(
    watched: tuple[HealthMonitor, tuple[Gpu, ...]], events: Path
) -> None:
    monitor, gpus = watched
    say(events, "event 0 type=16", "event 1 xid=79")
    arrived = monitor.wait(PATIENCE)
    assert arrived is not None
    assert arrived.gpu_uuid == gpus[1].uuid


def test_a_wait_that_fails_says_with_which_code(watched: tuple[HealthMonitor, tuple[Gpu, ...]], events: Path) -> None:
    monitor, _ = watched
    say(events, "fail EventSetWait * UNKNOWN count=1")
    with pytest.raises(NvmlCallError) as caught:
        monitor.wait(PATIENCE)
    assert (caught.value.call, caught.value.code) == ("EventSetWait", "UNKNOWN")
    assert monitor.wait(0) is None


def test_a_gpu_without_events_is_not_supported_and_its_neighbour_is_watched() -> None:
    with opened(topology("noevents")) as backend:
        monitor = backend.monitor()
        assert monitor is not None
        assert [watch(monitor, gpu) for gpu in backend.read().gpus] == [Watch.UNSUPPORTED, Watch.WATCHED]
        monitor.close()


@pytest.mark.parametrize("call", ["DeviceGetHandleByUUID", "DeviceGetSupportedEventTypes", "DeviceRegisterEvents"])
def test_a_gpu_that_cannot_be_watched_says_why(events: Path, call: str) -> None:
    with opened(node(GPUS), events) as backend:
        gpus = backend.read().gpus
        say(events, f"fail {call} 0 GPU_IS_LOST")
        monitor = backend.monitor()
        assert monitor is not None
        answers = [watch(monitor, gpu) for gpu in gpus]
        monitor.close()
    assert answers == [Fault(call=call, code="GPU_IS_LOST"), Watch.WATCHED]


@pytest.mark.parametrize("call", ["DeviceGetSupportedEventTypes", "DeviceRegisterEvents"])
def test_events_that_are_not_supported_are_no_fault(events: Path, call: str) -> None:
    say(events, f"fail {call} 0 NOT_SUPPORTED")
    with opened(node(GPUS), events) as backend:
        monitor = backend.monitor()
        assert monitor is not None
        assert watch(monitor, backend.read().gpus[0]) is Watch.UNSUPPORTED
        monitor.close()


def test_events_of_no_kind_that_matters_are_not_registered_for(events: Path) -> None:
    say(events, "fail DeviceRegisterEvents * INVALID_ARGUMENT")
    with opened(node({"gpus": [{"model": "T4", "events": []}]}), events) as backend:
        monitor = backend.monitor()
        assert monitor is not None
        assert watch(monitor, backend.read().gpus[0]) is Watch.UNSUPPORTED
        monitor.close()


def test_without_an_event_set_there_is_no_monitor(events: Path) -> None:
    say(events, "fail EventSetCreate * INSUFFICIENT_RESOURCES")
    with opened(node(GPUS), events) as backend, pytest.raises(NvmlCallError, match="EventSetCreate"):
        backend.monitor()


def test_a_gpu_answers_what_recovery_it_needs(watched: tuple[HealthMonitor, tuple[Gpu, ...]], events: Path) -> None:
    monitor, gpus = watched
    actions = [*(action.value for action in list(RecoveryAction)[:8]), "17", "unsupported"]
    answers = []
    for action in actions:
        say(events, f"recovery 0 {action}")
        answers.append(probe(monitor, gpus[0]))
    expected = [*list(RecoveryAction)[:8], RecoveryAction.UNKNOWN, None]
    assert answers == [Probe(fault=None, recovery=action) for action in expected]
    assert probe(monitor, gpus[1]) == Probe(fault=None, recovery=RecoveryAction.NONE)


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        (
            "fail DeviceGetMemoryInfo 0 GPU_IS_LOST",
            Fault(call="DeviceGetMemoryInfo", code="GPU_IS_LOST"),
        ),
        ("fail DeviceGetMemoryInfo 0 NOT_SUPPORTED", None),
        ("fail DeviceGetHandleByUUID 0 GPU_IS_LOST", Fault(call="DeviceGetHandleByUUID", code="GPU_IS_LOST")),
        ("remove 0", Fault(call="DeviceGetHandleByUUID", code="NOT_FOUND")),
    ],
)
def test_a_probe_asks_the_gpu_itself(
    watched: tuple[HealthMonitor, tuple[Gpu, ...]], events: Path, line: str, fault: Fault | None
) -> None:
    monitor, gpus = watched
    say(events, line)
    assert probe(monitor, gpus[0]).fault == fault
    assert probe(monitor, gpus[1]).answers
    say(events, "heal * 0", "add 0")
    assert probe(monitor, gpus[0]).answers


def test_an_event_set_is_freed_when_the_last_call_in_it_returns(events: Path) -> None:
    calls = Recorded(SimulatedState(node(GPUS), events))
    threads = DriverThreads(deadline=0.05)
    backend = NvmlBackend(calls, SimulatedFiles(node(GPUS)), threads=threads)
    gpus, monitor = backend.read().gpus, backend.monitor()
    say(events, "hang DeviceGetMemoryInfo 0 inf")
    assert threads.run("ask", lambda: monitor.ask(gpus[0], watch=True)) == Fault(
        call="DeviceGetMemoryInfo", code="NO_ANSWER"
    )
    monitor.close()
    assert "EventSetFree" not in calls.made
    # Whoever asks now is not let in.
    assert not monitor.ask(gpus[1], watch=True).probe.answers
    say(events, "heal *")
    end = time.monotonic() + PATIENCE
    while threads.stuck():
        assert time.monotonic() < end
        time.sleep(0.01)
    assert calls.made.count("EventSetFree") == 1
    backend.close()
