"""The handles of a simulated library: what they stand for as the node changes, and that none is kept for ever."""

from __future__ import annotations

from collections.abc import Iterator
from ctypes import c_void_p
from pathlib import Path
from typing import Any

import pynvml
import pytest

from core.devices.nodes import node, say
from gpu_core.devices.nvml.library import install, unload
from gpu_core.devices.simulated.commands import parse_command
from gpu_core.devices.simulated.library import SimulatedLibrary
from gpu_core.devices.simulated.state import SimulatedState

NODE = {
    "gpus": [{"model": "A30", "mig": {"enabled": True, "devices": ["1g.6gb", "1g.6gb"]}}, {"model": "T4", "count": 2}]
}
XID = pynvml.nvmlEventTypeXidCriticalError


class Driver:
    """A simulated library in the binding, and the node behind it."""

    def __init__(self) -> None:
        self.state = SimulatedState(node(NODE))
        self.library = SimulatedLibrary(self.state)

    def say(self, *lines: str) -> None:
        """Let things happen."""
        for line in lines:
            command = parse_command(line)
            assert command is not None
            self.state.obey(command)


@pytest.fixture
def driver() -> Iterator[Driver]:
    """Put a driver with three GPUs into the binding."""
    driver = Driver()
    install(driver.library)
    yield driver
    unload(driver.library)


def gpu(index: int) -> Any:
    """Return the handle of a GPU."""
    return pynvml.nvmlDeviceGetHandleByIndex(index)


def mig(index: int) -> Any:
    """Return the handle of a MIG device of the first GPU."""
    return pynvml.nvmlDeviceGetMigDeviceHandleByIndex(gpu(0), index)


def instance() -> Any:
    """Return the handle of the first MIG device's GPU instance."""
    return pynvml.nvmlDeviceGetGpuInstanceById(gpu(0), pynvml.nvmlDeviceGetGpuInstanceId(mig(0)))


def number(handle: Any) -> int | None:
    """Return the number behind a handle."""
    return c_void_p.from_buffer(handle).value


def code(function: Any, *args: Any) -> int:
    """Return NVML's return value of a call."""
    try:
        function(*args)
    except pynvml.NVMLError as error:
        return int(error.value)
    return int(pynvml.NVML_SUCCESS)


def wait(events: Any) -> Any:
    """Return the event that waits in a set; raise NVMLError_Timeout when there is none."""
    return pynvml.nvmlEventSetWait_v2(events, 0)


@pytest.mark.usefixtures("driver")
def test_a_device_has_one_handle_however_it_is_looked_up() -> None:
    uuids = [pynvml.nvmlDeviceGetUUID(handle).encode() for handle in (gpu(1), mig(1))]
    assert [number(pynvml.nvmlDeviceGetHandleByUUID(uuid)) for uuid in uuids] == [number(gpu(1)), number(mig(1))]
    assert number(pynvml.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(mig(0))) == number(gpu(0))


def test_a_gpu_that_comes_back_has_a_new_handle_and_the_old_one_is_lost_for_ever(driver: Driver) -> None:
    old, neighbour = gpu(1), gpu(2)
    driver.say("remove 1")
    assert code(gpu, 1) == pynvml.NVML_ERROR_GPU_IS_LOST
    assert code(pynvml.nvmlDeviceGetName, old) == pynvml.NVML_ERROR_GPU_IS_LOST
    for _ in range(3):
        driver.say("add 1")
        assert number(gpu(1)) != number(old)
        assert pynvml.nvmlDeviceGetName(gpu(1)) == "Tesla T4"
        assert code(pynvml.nvmlDeviceGetName, old) == pynvml.NVML_ERROR_GPU_IS_LOST
        assert (
            code(pynvml.nvmlDeviceRegisterEvents, old, XID, pynvml.nvmlEventSetCreate())
            == pynvml.NVML_ERROR_GPU_IS_LOST
        )
        assert code(pynvml.nvmlDeviceGetTopologyCommonAncestor, gpu(2), old) == pynvml.NVML_ERROR_GPU_IS_LOST
        driver.say("remove 1")
    assert number(gpu(2)) == number(neighbour)


def test_mig_devices_and_gpu_instances_of_a_gpu_that_left_are_lost_too(driver: Driver) -> None:
    old = [mig(0), mig(1)]
    held = instance()
    driver.say("remove 0", "add 0")
    fresh = [mig(0), mig(1)]
    assert {number(handle) for handle in fresh}.isdisjoint({number(handle) for handle in old})
    assert [pynvml.nvmlDeviceGetName(handle) for handle in fresh] == ["NVIDIA A30 MIG 1g.6gb"] * 2
    assert [code(pynvml.nvmlDeviceGetUUID, handle) for handle in old] == [pynvml.NVML_ERROR_GPU_IS_LOST] * 2
    assert code(pynvml.nvmlGpuInstanceGetInfo, held) == pynvml.NVML_ERROR_GPU_IS_LOST


def test_a_mig_device_that_was_partitioned_away_is_an_invalid_argument_for_ever(driver: Driver) -> None:
    old, held = mig(0), instance()
    driver.say("mig 0 4g.24gb")
    for _ in range(2):
        assert code(pynvml.nvmlDeviceGetName, old) == pynvml.NVML_ERROR_INVALID_ARGUMENT
        assert code(pynvml.nvmlGpuInstanceGetInfo, held) == pynvml.NVML_ERROR_INVALID_ARGUMENT
        assert pynvml.nvmlDeviceGetName(mig(0)) == "NVIDIA A30 MIG 4g.24gb"
        driver.say("mig 0 1g.6gb", "mig 0 4g.24gb")


@pytest.mark.parametrize("junk", [0, 1, 0x10, 0x1000, 2**64 - 1])
def test_a_pointer_that_no_driver_gave_is_an_invalid_argument(driver: Driver, junk: int) -> None:
    driver.say("remove *", "add *")
    expected = [pynvml.NVML_ERROR_INVALID_ARGUMENT] if junk in (0, 2**64 - 1) else None
    for function in (pynvml.nvmlDeviceGetName, pynvml.nvmlDeviceGetBrand, pynvml.nvmlGpuInstanceGetInfo):
        answered = code(function, c_void_p(junk))
        assert answered in (expected or [pynvml.NVML_ERROR_INVALID_ARGUMENT, pynvml.NVML_ERROR_GPU_IS_LOST])


def test_a_gpu_that_left_is_registered_in_no_set_and_its_waiting_events_are_dropped(driver: Driver) -> None:
    first, second = pynvml.nvmlEventSetCreate(), pynvml.nvmlEventSetCreate()
    for events in (first, second):
        for index in (1, 2):
            pynvml.nvmlDeviceRegisterEvents(gpu(index), XID, events)
    driver.say("event 1 xid=31", "event 2 xid=45", "remove 1", "event 1 xid=79", "add 1", "event 1 xid=48")
    for events in (first, second):
        assert wait(events).eventData == 45
        assert code(wait, events) == pynvml.NVML_ERROR_TIMEOUT
    pynvml.nvmlDeviceRegisterEvents(gpu(1), XID, second)
    driver.say("event 1 xid=94")
    assert code(wait, first) == pynvml.NVML_ERROR_TIMEOUT
    assert wait(second).eventData == 94


def test_an_event_tells_the_handle_that_its_gpu_has_now(driver: Driver) -> None:
    events = pynvml.nvmlEventSetCreate()
    old = gpu(1)
    driver.say("remove 1", "add 1")
    fresh = gpu(1)
    pynvml.nvmlDeviceRegisterEvents(fresh, XID, events)
    driver.say("event 1 xid=79")
    assert number(wait(events).device) == number(fresh) != number(old)


def test_a_driver_keeps_nothing_of_what_is_gone(driver: Driver) -> None:
    handles, sets = driver.library.handles, driver.state.event_sets

    def look() -> tuple[int, int]:
        driver.say("fail DeviceGetName * UNKNOWN count=1", "hang DeviceGetUUID * 0", "slow DeviceGetCount * 0")
        driver.say("fail DeviceGetBrand * UNKNOWN")
        events = pynvml.nvmlEventSetCreate()
        for index in range(3):
            pynvml.nvmlDeviceRegisterEvents(gpu(index), XID, events)
        devices = [gpu(0), gpu(1), gpu(2), *(mig(index) for index in range(4) if code(mig, index) == 0)]
        code(pynvml.nvmlDeviceGetName, devices[0])
        assert len({pynvml.nvmlDeviceGetUUID(device) for device in devices}) == len(devices)
        assert code(instance) == 0
        driver.say("event * xid=79")
        pynvml.nvmlEventSetFree(events)
        return len(handles), len(sets)

    sizes = set()
    for _ in range(150):
        driver.say("mig 0 2g.12gb 1g.6gb", "remove 1", "add 1")
        sizes.add(look())
        driver.say("mig 0 1g.6gb x4", "remove 0", "add 0")
        sizes.add(look())
    assert max(sizes) == (3 + 4 + 1, 0), "GPUs, MIG devices and the GPU instance that was asked for"
    assert len(driver.state.told) == 2, "one call is slow and one fails until they are healed"


def test_events_that_nobody_takes_do_not_pile_up(driver: Driver) -> None:
    events = pynvml.nvmlEventSetCreate()
    pynvml.nvmlDeviceRegisterEvents(gpu(1), XID, events)
    driver.say(*(f"event 1 xid={xid}" for xid in range(5000)))
    taken = []
    while code(wait, events) == 0:
        taken.append(wait(events).eventData)
    assert (taken[-1], len(taken) < 2500) == (4999, True)


def test_a_gpu_that_comes_back_with_a_new_events_file_is_another_one(tmp_path: Path) -> None:
    path = tmp_path / "events"
    say(path, "# a line that is longer than the one that follows")
    library = SimulatedLibrary(SimulatedState(node(NODE), path))
    install(library)
    old = gpu(1)
    say(path, "remove 1")
    assert code(pynvml.nvmlDeviceGetName, old) == pynvml.NVML_ERROR_GPU_IS_LOST
    path.write_text("", encoding="utf-8")
    assert (pynvml.nvmlDeviceGetName(gpu(1)), code(pynvml.nvmlDeviceGetName, old)) == (
        "Tesla T4",
        pynvml.NVML_ERROR_GPU_IS_LOST,
    )
    unload(library)
