"""How the driver is let go of: after everybody has come back from it, or not at all."""

from __future__ import annotations

import io
import json
import threading

from core.health.books import HEALTHY, WATCHED, rules
from core.resources.building import node_of, whole_gpu
from device_plugin.metrics import HEALTH
from fakes.patience import PATIENCE
from fakes.waiting import wait_for
from gpu_core.config.model import Config
from gpu_core.devices.backend import Answer, DeviceEvent
from gpu_core.devices.driver_threads import DriverThreads
from gpu_core.devices.model import Gpu, Inventory, Platform
from gpu_core.hardware.driver import OpenDriver
from gpu_core.hardware.node_health import NodeHealth
from gpu_core.hardware.source import NodeSource
from gpu_core.runtime.counters import Counters
from gpu_core.runtime.logs import configure

NODE = node_of(whole_gpu(0), whole_gpu(1))
LEFT_OPEN = "A call into the driver does not return; the driver is left open"


class Driver:
    """A driver whose wait for events returns when it likes, and which notes whether it is shut down under one."""

    platform = Platform.NVML

    def __init__(self, *, hangs: bool) -> None:
        self.back = threading.Event()
        self.waiting = threading.Event()
        self.waits = 0
        self.shut_down_under: list[int] = []
        self._hangs = hangs

    def read(self, *, links: bool = False) -> Inventory:
        """Return the GPUs."""
        return NODE

    def monitor(self) -> Driver:
        """Be the event set, too."""
        return self

    def ask(self, gpu: Gpu, *, watch: bool) -> Answer:
        """Register a GPU."""
        return Answer(watching=WATCHED if watch else None, probe=HEALTHY)

    def wait(self, timeout: float) -> DeviceEvent | None:
        """Hang, or find nothing."""
        self.waits += 1
        self.waiting.set()
        self.back.wait(PATIENCE if self._hangs else timeout)
        self.waits -= 1
        return None

    def close(self) -> None:
        """Note what is going on; it is the end of the event set and of the driver, of which the last counts."""
        self.shut_down_under.append(self.waits)


class Bench:
    """A driver that is open and watched."""

    def __init__(self, *drivers: Driver) -> None:
        self.log = io.StringIO()
        configure(json=True, stream=self.log)
        self.threads = DriverThreads()
        opened = iter(drivers)
        self.open = OpenDriver(
            NodeSource(open=lambda _: next(opened), exists=lambda _: True, threads=self.threads), counters=Counters()
        )
        self.health = NodeHealth(rules(quiet=0), counters=Counters(), metrics=HEALTH)

    def watch(self, driver: Driver) -> None:
        self.health.inventory(self.open.read(Config()))
        self.open.watch(self.health, probe_interval=PATIENCE)
        assert driver.waiting.wait(PATIENCE)

    def errors(self) -> list[str]:
        lines = [json.loads(line) for line in self.log.getvalue().splitlines()]
        return [line["event"] for line in lines if line["level"] == "error"]


def test_a_driver_in_which_nobody_is_any_more_is_shut_down() -> None:
    driver = Driver(hangs=False)
    bench = Bench(driver)
    bench.watch(driver)
    bench.open.stop()
    # First the event set, then the driver.
    assert (driver.shut_down_under, bench.errors()) == ([0, 0], [])


def test_a_driver_is_not_shut_down_under_a_wait_for_events_that_hangs() -> None:
    """It would crash the process."""
    stuck, fresh = Driver(hangs=True), Driver(hangs=False)
    bench = Bench(stuck, fresh)
    bench.watch(stuck)
    bench.open.close()
    try:
        assert (stuck.shut_down_under, stuck.waits) == ([], 1)
        assert LEFT_OPEN in bench.errors()
        # It is opened anew beside that, and even then the other one is not touched while somebody is in it.
        bench.watch(fresh)
        assert stuck.shut_down_under == []
    finally:
        stuck.back.set()
        bench.open.stop()
    # Of the one that was left open, the event set alone was given back, once its wait had returned.
    wait_for(lambda: stuck.shut_down_under == [0], "the event set is not given back")
    assert set(fresh.shut_down_under) == {0}


def test_the_end_of_the_program_does_not_shut_it_down_either_and_needs_no_word() -> None:
    driver = Driver(hangs=True)
    bench = Bench(driver)
    bench.watch(driver)
    bench.threads.abandon()
    bench.open.stop()
    try:
        assert (driver.shut_down_under, driver.waits) == ([], 1)
        assert LEFT_OPEN not in bench.errors()
    finally:
        driver.back.set()
