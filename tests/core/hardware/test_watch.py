"""The watch over a node's GPUs: another interval while it runs, and what is left when a fault of our own ends it."""

from __future__ import annotations

import threading

import pytest

from core.health.books import HEALTHY, WATCHED, rules
from core.resources.building import node_of, whole_gpu
from device_plugin.metrics import HEALTH, MONITORED
from fakes.patience import PATIENCE
from fakes.waiting import wait_for
from gpu_core.config.model import Config
from gpu_core.devices.backend import Answer, DeviceEvent
from gpu_core.devices.driver_threads import DriverThreads
from gpu_core.devices.model import Gpu, Inventory, Platform
from gpu_core.hardware.driver import OpenDriver
from gpu_core.hardware.node_health import NodeHealth
from gpu_core.hardware.source import NodeSource
from gpu_core.hardware.watch import HealthWatch
from gpu_core.runtime.counters import Counters

NODE = node_of(whole_gpu(0))
NEVER = 1e9


class Driver:
    """A driver, and its event set, that answers at once; a wait for events raises what is no answer, once told to."""

    platform = Platform.NVML

    def __init__(self) -> None:
        self.asked = 0
        self.breaks = threading.Event()

    def read(self, *, links: bool = False) -> Inventory:
        """Return the GPU."""
        return NODE

    def monitor(self) -> Driver:
        """Be the event set, too."""
        return self

    def ask(self, gpu: Gpu, *, watch: bool) -> Answer:
        """Answer for a GPU that is well."""
        self.asked += 1
        return Answer(watching=WATCHED if watch else None, probe=HEALTHY)

    def wait(self, timeout: float) -> DeviceEvent | None:
        """Find nothing."""
        if self.breaks.wait(timeout):
            raise RuntimeError("A fault of our own.")
        return None

    def close(self) -> None:
        """Do nothing."""


def health_of(counters: Counters) -> NodeHealth:
    return NodeHealth(rules(quiet=0), counters=counters, metrics=HEALTH)


def monitored(counters: Counters) -> list[float]:
    return [sample.value for sample in counters.snapshot() if sample.metric is MONITORED]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_where_nobody_hears_events_any_more_nothing_is_healthy_and_nobody_is_waited_for() -> None:
    driver, counters = Driver(), Counters()
    health = health_of(counters)
    health.inventory(NODE)
    watch = HealthWatch(driver, health, DriverThreads(), probe_interval=NEVER, counters=counters)
    watch.start()
    try:
        wait_for(lambda: health.book.state("GPU-0").healthy and monitored(counters) == [1.0], "the GPU is not watched")
        driver.breaks.set()
        wait_for(lambda: not watch.running, "the watch goes on")
        state = health.book.state("GPU-0")
        assert (state.healthy, state.reason) == (
            False,
            "its health events cannot be received: nvmlEventSetWait failed with UNKNOWN",
        )
        wait_for(lambda: monitored(counters) == [0.0], "events are said to be received")
        # Who wants every GPU asked first would wait for a round that nobody makes.
        waiting = threading.Thread(target=watch.catch_up, args=(NEVER,), daemon=True)
        waiting.start()
        waiting.join(PATIENCE)
        assert not waiting.is_alive()
    finally:
        watch.stop(PATIENCE)


def test_another_interval_holds_for_gpus_that_are_watched_already() -> None:
    driver = Driver()
    opened = OpenDriver(
        NodeSource(open=lambda _: driver, exists=lambda _: True, threads=DriverThreads()), counters=Counters()
    )
    health = health_of(Counters())
    health.inventory(opened.read(Config()))
    opened.watch(health, probe_interval=NEVER)
    try:
        wait_for(lambda: driver.asked == 1, "the GPU is not watched")
        opened.watch(health, probe_interval=0.01)
        wait_for(lambda: driver.asked >= 4, "the GPU is not asked more often")
    finally:
        opened.stop()
