"""Event sets that fail, and others in their place: what goes on whatever the driver does with the old one."""

from __future__ import annotations

import threading

from core.health.books import HEALTHY, WATCHED, rules
from core.resources.building import node_of, whole_gpu
from device_plugin.metrics import HEALTH
from fakes.patience import PATIENCE
from gpu_core.devices.backend import Answer, DeviceEvent
from gpu_core.devices.driver_threads import DriverThreads
from gpu_core.devices.model import Gpu, Inventory, Platform
from gpu_core.errors import NvmlCallError
from gpu_core.hardware.node_health import NodeHealth
from gpu_core.hardware.watch import HealthWatch
from gpu_core.runtime.counters import Counters

NODE = node_of(whole_gpu(0), whole_gpu(1))


class EventSet:
    """An event set in which waiting can be made to fail, and which is freed when the driver likes."""

    def __init__(self) -> None:
        self.asked: set[str] = set()
        self.all_asked = threading.Event()
        self.fails = threading.Event()
        self.freeing = threading.Event()
        self.freed = threading.Event()

    def ask(self, gpu: Gpu, *, watch: bool) -> Answer:
        """Register a GPU."""
        self.asked.add(gpu.uuid)
        if len(self.asked) == len(NODE.gpus):
            self.all_asked.set()
        return Answer(watching=WATCHED if watch else None, probe=HEALTHY)

    def wait(self, timeout: float) -> DeviceEvent | None:
        """Fail, when it is time to."""
        if self.fails.wait(timeout):
            raise NvmlCallError("A GPU is lost.", call="EventSetWait", code="GPU_IS_LOST")
        return None

    def close(self) -> None:
        """Return only when it is let go."""
        self.freeing.set()
        self.freed.wait(PATIENCE)


class Driver:
    """A driver that gives out these event sets."""

    platform = Platform.NVML

    def __init__(self, *sets: EventSet) -> None:
        self._sets = iter(sets)

    def read(self, *, links: bool = False) -> Inventory:
        """Return the GPUs."""
        return NODE

    def monitor(self) -> EventSet:
        """Return the next one."""
        return next(self._sets)

    def close(self) -> None:
        """Do nothing."""


def test_gpus_report_to_a_new_event_set_while_the_driver_does_not_free_the_old_one() -> None:
    old, new = EventSet(), EventSet()
    driver, counters = Driver(old, new), Counters()
    health = NodeHealth(rules(quiet=0), counters=counters, metrics=HEALTH)
    health.inventory(driver.read())
    loop = HealthWatch(driver, health, DriverThreads(), probe_interval=PATIENCE, counters=counters)
    loop.start()
    try:
        assert old.all_asked.wait(PATIENCE)
        old.fails.set()
        assert old.freeing.wait(PATIENCE)
        assert new.all_asked.wait(PATIENCE)
        assert not old.freed.is_set()
        assert not loop.stop(0.0)
    finally:
        old.freed.set()
        new.freed.set()
        assert loop.stop(PATIENCE)
