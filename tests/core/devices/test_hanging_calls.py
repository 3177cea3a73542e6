"""Calls into a simulated driver that hang or are slow, through the real NVML binding."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import pynvml
import pytest

from core.devices.nodes import node, opened, say
from fakes.patience import PATIENCE
from gpu_core.devices.simulated.commands import Hang, Partition, Slow, parse_command

NODE = {
    "gpus": [
        {"model": "A30", "mig": {"enabled": True, "devices": ["1g.6gb", "1g.6gb"]}},
        {"model": "T4", "count": 2},
    ]
}
"""Seconds after which a call that should have come back is given up."""

NOTICED = 0.5
"""Seconds in which a call that does not hang would have come back."""


class Calls:
    """Starts calls in threads of their own, which a hanging driver may keep."""

    def __init__(self, events: Path) -> None:
        self.events = events
        self._pool = ThreadPoolExecutor(16)

    def begin(self, function: Callable[..., Any], *args: Any) -> Future[Any]:
        """Start a call and go on."""
        return self._pool.submit(function, *args)

    def now(self, function: Callable[..., Any], *args: Any) -> Any:
        """Return what a call answers; the test fails when it hangs."""
        return self.begin(function, *args).result(PATIENCE)

    def hanging(self, function: Callable[..., Any], *args: Any) -> Future[Any]:
        """Start a call and see it hang."""
        call = self.begin(function, *args)
        assert not wait([call], NOTICED).done, "the call came back"
        return call

    def end(self) -> None:
        """Let all threads go."""
        say(self.events, "heal *")
        self._pool.shutdown()


@pytest.fixture
def calls(tmp_path: Path) -> Iterator[Calls]:
    """Open a node with three GPUs, the first of them with two MIG devices."""
    events = tmp_path / "events"
    events.touch()
    with opened(node(NODE), events):
        calls = Calls(events)
        yield calls
        calls.end()


def gpu(index: int) -> Any:
    """Return the handle of a GPU."""
    return pynvml.nvmlDeviceGetHandleByIndex(index)


def mig(index: int) -> Any:
    """Return the handle of a MIG device of the first GPU."""
    return pynvml.nvmlDeviceGetMigDeviceHandleByIndex(gpu(0), index)


def by_uuid(uuid: str) -> Any:
    """Return a handle by UUID."""
    return pynvml.nvmlDeviceGetHandleByUUID(uuid.encode())


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("hang DeviceGetName 0 30", Hang(call="DeviceGetName", target="0", seconds=30.0)),
        ("hang nvmlDeviceGetPciInfo_v3 0:1 .5", Hang(call="DeviceGetPciInfo", target="0:1", seconds=0.5)),
        ("hang EventSetWait * inf count=3", Hang(call="EventSetWait", target="*", seconds=math.inf, count=3)),
        ("slow nvmlInitWithFlags * 0.35", Slow(call="Init", target="*", seconds=0.35)),
        ("slow DeviceGetName 1 inf", Slow(call="DeviceGetName", target="1", seconds=math.inf)),
        *(
            (f"{word} DeviceGetName 0 {seconds}", None)
            for word in ("hang", "slow")
            for seconds in ("nan", "-1", "1e3", "infinity", "1_0", "+1", "1s", ".", "9" * 400, "1000001", "٣")
        ),
        ("mig 0 2g.12gb 1g.6gb x2", Partition(target="0", profiles=("2g.12gb", "1g.6gb x2"))),
        ("mig 0 1c.2g.12gb x2 x3y", Partition(target="0", profiles=("1c.2g.12gb x2", "x3y"))),
        ("mig 0", Partition(target="0", profiles=())),
        ("hang DeviceGetName 0", None),
        ("hang DeviceGetName 0 1 2", None),
        ("hang DeviceGetName 0 1 count=-1", None),
        ("hang DeviceGetName 0 1 count=some", None),
        ("fail DeviceGetName 0 UNKNOWN count=-1", None),
    ],
)
def test_what_is_told_is_understood_or_passed_over(line: str, command: object) -> None:
    assert parse_command(line) == command


def test_the_next_call_hangs_and_the_one_after_it_does_not(calls: Calls) -> None:
    say(calls.events, "hang DeviceGetName 1 inf")
    hanging = calls.hanging(pynvml.nvmlDeviceGetName, gpu(1))
    assert calls.now(pynvml.nvmlDeviceGetName, gpu(1)) == "Tesla T4"
    assert not hanging.done()
    say(calls.events, "heal DeviceGetName 1")
    assert hanging.result(PATIENCE) == "Tesla T4"


def test_no_call_hangs_that_was_told_to_hang_never(calls: Calls) -> None:
    say(calls.events, "hang DeviceGetName 1 inf count=0")
    assert calls.now(pynvml.nvmlDeviceGetName, gpu(1)) == "Tesla T4"


def test_as_many_calls_hang_as_were_told(calls: Calls) -> None:
    say(calls.events, "hang DeviceGetName 1 inf count=2")
    hanging = [calls.hanging(pynvml.nvmlDeviceGetName, gpu(1)) for _ in range(2)]
    assert calls.now(pynvml.nvmlDeviceGetName, gpu(1)) == "Tesla T4"
    say(calls.events, "heal * 1")
    assert [call.result(PATIENCE) for call in hanging] == ["Tesla T4"] * 2


def test_no_other_call_gpu_or_thread_waits_for_one_that_hangs(calls: Calls) -> None:
    say(calls.events, "hang DeviceGetMemoryInfo 1 inf", "slow DeviceGetMemoryInfo 2 inf")
    hanging = [calls.hanging(pynvml.nvmlDeviceGetMemoryInfo, gpu(index)) for index in (1, 2)]
    assert calls.now(pynvml.nvmlDeviceGetName, gpu(1)) == "Tesla T4"
    assert calls.now(pynvml.nvmlDeviceGetMemoryInfo, gpu(0)).total > 0
    assert calls.now(pynvml.nvmlDeviceGetCount) == 3
    assert [call.done() for call in hanging] == [False, False]


def test_a_call_that_hangs_for_a_while_answers_after_it(calls: Calls) -> None:
    say(calls.events, "hang DeviceGetName 1 0.2")
    began = time.monotonic()
    assert calls.now(pynvml.nvmlDeviceGetName, gpu(1)) == "Tesla T4"
    assert time.monotonic() - began >= 0.2


def test_a_slow_call_answers_rightly_and_late_each_time_until_it_is_healed(calls: Calls) -> None:
    say(calls.events, "slow DeviceGetName 1 9", "slow DeviceGetName 1 0.2")
    for _ in range(2):
        began = time.monotonic()
        assert calls.now(pynvml.nvmlDeviceGetName, gpu(1)) == "Tesla T4"
        assert time.monotonic() - began >= 0.2
    say(calls.events, "slow DeviceGetName 1 inf")
    slow = calls.hanging(pynvml.nvmlDeviceGetName, gpu(1))
    say(calls.events, "heal DeviceGetName")
    assert slow.result(PATIENCE) == "Tesla T4"
    assert calls.now(pynvml.nvmlDeviceGetName, gpu(1)) == "Tesla T4"


def test_hangs_come_in_the_order_in_which_they_were_told_and_before_slowness(calls: Calls) -> None:
    say(calls.events, "slow DeviceGetName 1 0", "hang DeviceGetName 1 0", "hang DeviceGetName * inf")
    assert calls.now(pynvml.nvmlDeviceGetName, gpu(1)) == "Tesla T4"
    hanging = calls.hanging(pynvml.nvmlDeviceGetName, gpu(1))
    assert calls.now(pynvml.nvmlDeviceGetName, gpu(1)) == "Tesla T4"
    say(calls.events, "heal DeviceGetName *")
    assert hanging.result(PATIENCE) == "Tesla T4"


@pytest.mark.parametrize(
    ("call", "target", "function", "other"),
    [
        ("DeviceGetUUID", "0:1", lambda: pynvml.nvmlDeviceGetUUID(mig(1)), lambda: pynvml.nvmlDeviceGetUUID(mig(0))),
        ("DeviceGetUUID", "0", lambda: pynvml.nvmlDeviceGetUUID(gpu(0)), lambda: pynvml.nvmlDeviceGetUUID(mig(0))),
        ("DeviceGetHandleByIndex", "1", lambda: gpu(1), lambda: gpu(2)),
        (
            "DeviceGetHandleByUUID",
            "1",
            lambda: by_uuid(pynvml.nvmlDeviceGetUUID(gpu(1))),
            lambda: by_uuid(pynvml.nvmlDeviceGetUUID(gpu(2))),
        ),
        (
            "DeviceGetHandleByUUID",
            "0:0",
            lambda: by_uuid(pynvml.nvmlDeviceGetUUID(mig(0))),
            lambda: by_uuid(pynvml.nvmlDeviceGetUUID(mig(1))),
        ),
        (
            "GpuInstanceGetInfo",
            "0",
            lambda: pynvml.nvmlGpuInstanceGetInfo(
                pynvml.nvmlDeviceGetGpuInstanceById(gpu(0), pynvml.nvmlDeviceGetGpuInstanceId(mig(0)))
            ),
            lambda: pynvml.nvmlDeviceGetName(gpu(0)),
        ),
        ("DeviceGetCount", "*", pynvml.nvmlDeviceGetCount, lambda: gpu(0)),
        ("SystemGetDriverVersion", "*", pynvml.nvmlSystemGetDriverVersion, pynvml.nvmlDeviceGetCount),
        ("Init", "*", pynvml.nvmlInit, pynvml.nvmlDeviceGetCount),
        ("Shutdown", "*", pynvml.nvmlShutdown, pynvml.nvmlDeviceGetCount),
        ("EventSetCreate", "*", pynvml.nvmlEventSetCreate, pynvml.nvmlDeviceGetCount),
    ],
)
def test_what_hangs_is_named_as_for_a_failure(
    calls: Calls, call: str, target: str, function: Callable[[], Any], other: Callable[[], Any]
) -> None:
    say(calls.events, f"hang {call} {target} inf")
    hanging = calls.hanging(function)
    calls.now(other)
    say(calls.events, f"hang {call} {target} inf")
    calls.now(other)
    say(calls.events, f"heal {call} {target}")
    hanging.result(PATIENCE)
    calls.now(function)


def test_a_wait_for_events_hangs_beyond_its_time_and_answers_as_the_node_is_then(calls: Calls) -> None:
    events = pynvml.nvmlEventSetCreate()
    pynvml.nvmlDeviceRegisterEvents(gpu(1), pynvml.nvmlEventTypeXidCriticalError, events)
    say(calls.events, "hang EventSetWait * inf")
    hanging = calls.hanging(pynvml.nvmlEventSetWait_v2, events, 10)
    say(calls.events, "event 1 xid=79", "heal *")
    assert hanging.result(PATIENCE).eventData == 79


def test_a_wait_that_is_slow_and_meets_nothing_ends_with_its_timeout(calls: Calls) -> None:
    events = pynvml.nvmlEventSetCreate()
    say(calls.events, "slow EventSetWait * 0.2")
    began = time.monotonic()
    with pytest.raises(pynvml.NVMLError) as caught:
        calls.now(pynvml.nvmlEventSetWait_v2, events, 10)
    assert (caught.value.value, time.monotonic() - began >= 0.2) == (pynvml.NVML_ERROR_TIMEOUT, True)


def test_a_call_that_hung_answers_as_the_node_is_when_it_returns(calls: Calls) -> None:
    say(calls.events, "hang DeviceGetName 1 inf", "hang DeviceGetName 2 inf")
    lost, failing = (calls.hanging(pynvml.nvmlDeviceGetName, gpu(index)) for index in (1, 2))
    say(calls.events, "remove 1", "heal DeviceGetName", "fail DeviceGetName 2 UNKNOWN")
    codes = [call.exception(PATIENCE).value for call in (lost, failing)]  # type: ignore[union-attr]
    assert codes == [pynvml.NVML_ERROR_GPU_IS_LOST, pynvml.NVML_ERROR_UNKNOWN]


def test_healing_something_else_frees_nothing(calls: Calls) -> None:
    say(calls.events, "hang DeviceGetName 1 inf")
    hanging = calls.hanging(pynvml.nvmlDeviceGetName, gpu(1))
    say(calls.events, "heal DeviceGetUUID 1", "heal * 2", "heal DeviceGetName 2")
    assert not wait([hanging], NOTICED).done
    say(calls.events, "heal *")
    assert hanging.result(PATIENCE) == "Tesla T4"


def test_a_new_events_file_frees_everything(calls: Calls) -> None:
    say(calls.events, "hang DeviceGetName 1 inf", "slow DeviceGetName 2 inf", "hang DeviceGetUUID * inf")
    hanging = [calls.hanging(pynvml.nvmlDeviceGetName, gpu(index)) for index in (1, 2)]
    calls.events.write_text("# new\n", encoding="utf-8")
    assert [call.result(PATIENCE) for call in hanging] == ["Tesla T4"] * 2
    assert calls.now(pynvml.nvmlDeviceGetUUID, gpu(1)).startswith("GPU-")
