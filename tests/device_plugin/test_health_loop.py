"""The thread that waits for events: what it does when a wait fails, with a clock of its own."""

from __future__ import annotations

import queue
import threading
import time
from dataclasses import dataclass, field

from core.health.books import HEALTHY, WATCHED, rules
from core.resources.building import node_of, whole_gpu
from device_plugin.metrics import HEALTH
from fakes.patience import PATIENCE
from gpu_core.devices.backend import Answer, DeviceEvent
from gpu_core.devices.driver_threads import DEADLINE, DriverThreads
from gpu_core.devices.model import Gpu, Inventory, Platform
from gpu_core.errors import NvmlCallError
from gpu_core.hardware.node_health import NodeHealth
from gpu_core.hardware.watch import HealthWatch
from gpu_core.runtime.counters import Counters

NODE = node_of(whole_gpu(0))


@dataclass
class EventSets:
    """A driver whose first wait for events fails; after that its event sets work. `waits` tells each set's number."""

    made: int = 0
    now: float = 0.0
    freed: threading.Event = field(default_factory=threading.Event)
    waits: queue.SimpleQueue[int] = field(default_factory=queue.SimpleQueue)
    platform: Platform = Platform.NVML

    def read(self, *, links: bool = False) -> Inventory:
        del links
        return NODE

    def monitor(self) -> EventSet:
        if self.made:
            assert self.freed.wait(PATIENCE)
        self.made += 1
        return EventSet(self, self.made)

    def close(self) -> None:
        pass


@dataclass
class EventSet:
    driver: EventSets
    number: int

    def ask(self, gpu: Gpu, *, watch: bool) -> Answer:
        del gpu
        return Answer(watching=WATCHED if watch else None, probe=HEALTHY)

    def wait(self, timeout: float) -> DeviceEvent | None:
        self.driver.waits.put(self.number)
        if self.number == 1:
            raise NvmlCallError("No.", call="EventSetWait", code="UNKNOWN")
        time.sleep(timeout / 100)
        return None

    def close(self) -> None:
        # So much later, a wait that is still going on would be one that does not come back.
        self.driver.now += 10 * DEADLINE
        self.driver.freed.set()


def test_a_wait_that_failed_is_not_taken_for_one_that_does_not_return() -> None:
    driver = EventSets()
    health = NodeHealth(rules(quiet=0), counters=Counters(), metrics=HEALTH)
    health.inventory(NODE)
    loop = HealthWatch(
        driver, health, DriverThreads(), probe_interval=1.0, counters=Counters(), clock=lambda: driver.now
    )
    loop.start()
    try:
        sets = [driver.waits.get(timeout=PATIENCE) for _ in range(20)]
        assert (sets, driver.made, loop.hanging) == ([1, *[2] * 19], 2, None)
    finally:
        assert loop.stop(PATIENCE)
