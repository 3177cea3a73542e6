"""The thread that asks the node's GPUs: whether they answer, what recovery they need, and for their events.

It waits for GPUs, so that the thread that waits for events never does: what it asks has a deadline, and whoever is
late is unhealthy, while its neighbours' answers count as they come.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from functools import partial

from gpu_core.devices.backend import Answer, HealthMonitor, Probe, Watch, Watching
from gpu_core.devices.driver_threads import DriverThreads
from gpu_core.devices.model import Fault, Gpu
from gpu_core.errors import Ending
from gpu_core.hardware.node_health import NodeHealth
from gpu_core.runtime.logs import get_logger
from gpu_core.runtime.once import Once

_EVENTLESS = "This GPU reports no events; it is asked from time to time only"


class Rounds:
    """Asks every GPU that the book knows each `interval` seconds, and at once when there is somebody new.

    `check` is called before each wait and returns until when, in the clock's seconds, it wants to be called again.
    """

    def __init__(
        self,
        health: NodeHealth,
        threads: DriverThreads,
        *,
        interval: float,
        check: Callable[[], float],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._health = health
        self._threads = threads
        self._interval = interval
        self._check = check
        self._clock = clock
        self._log = get_logger()
        self._once = Once(self._log.info)
        # Guards what follows; where the book is told of an answer it is held, so that an answer to an event set that
        # has failed meanwhile can never count.
        self._condition = threading.Condition()
        self._monitor: HealthMonitor | None = None
        self._fresh = False
        self._unwatched = False
        self._asked_for = 0
        self._answered = 0
        self._next = -math.inf
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="health-rounds", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def use(self, monitor: HealthMonitor) -> None:
        """Let GPUs report to this event set from now on: each is asked anew."""
        with self._condition:
            self._monitor, self._fresh, self._unwatched = monitor, True, False
            self._condition.notify_all()

    def unwatched(self) -> None:
        """Take note that there is no event set that works; nobody waits for a round meanwhile."""
        with self._condition:
            self._monitor, self._unwatched = None, True
            self._condition.notify_all()

    def retire(self, monitor: HealthMonitor) -> None:
        """Let no GPU report to this event set any more; there will be another one at once, or `unwatched` follows."""
        with self._condition:
            if self._monitor is monitor:
                self._monitor = None

    def every(self, interval: float) -> None:
        """Ask every GPU each `interval` seconds from now on."""
        with self._condition:
            if interval != self._interval:
                self._next += interval - self._interval
                self._interval = interval
                self._condition.notify_all()

    def catch_up(self, patience: float) -> None:
        """Wait at most `patience` seconds until every GPU that is not watched was asked; the book knows the outcome."""
        with self._condition:
            self._asked_for += 1
            wanted = self._asked_for
            self._condition.notify_all()
            self._condition.wait_for(lambda: self._unwatched or self._stopping or self._answered >= wanted, patience)

    def stop(self, patience: float) -> bool:
        """End; returns whether the thread has ended within `patience` seconds."""
        with self._condition:
            self._stopping = True
            self._condition.notify_all()
        self._thread.join(patience)
        return not self._thread.is_alive()

    @property
    def running(self) -> bool:
        """Whether GPUs are asked."""
        return self._thread.is_alive()

    def _run(self) -> None:
        try:
            self._keep_asking()
        except Ending:
            self._stopping = True
        finally:
            # However this came to its end: what nobody asks must not be called healthy.
            if not self._stopping:
                self._health.unwatched(Fault(call="DeviceGetMemoryInfo", code="UNKNOWN"))
            self.unwatched()

    def _keep_asking(self) -> None:
        while True:
            look_again = self._check()
            with self._condition:
                now = self._clock()
                due = self._monitor is not None and (
                    self._fresh or self._asked_for > self._answered or now >= self._next
                )
                if not (due or self._stopping):
                    until = look_again if self._monitor is None else min(look_again, self._next)
                    self._condition.wait(None if math.isinf(until) else max(0.0, until - now))
                stopping = self._stopping
            if stopping:
                return
            if due:
                self._round()

    def _round(self) -> None:
        with self._condition:
            monitor, fresh, wanted = self._monitor, self._fresh, self._asked_for
            everyone = fresh or self._clock() >= self._next
            self._fresh = False
        if monitor is None:
            return
        book = self._health.book
        gpus = {gpu.uuid: gpu for gpu in book.gpus if not gpu.lost}
        watch = {uuid for uuid, gpu in gpus.items() if fresh or book.needs_watch(gpu)}
        jobs = {
            ("ask", uuid): partial(monitor.ask, gpu, watch=uuid in watch)
            for uuid, gpu in gpus.items()
            if everyone or uuid in watch
        }
        for (_, uuid), answer in self._threads.each(jobs):
            self._tell(monitor, gpus[uuid], _late(answer, uuid in watch) if isinstance(answer, Fault) else answer)
        with self._condition:
            self._answered = max(self._answered, wanted)
            if everyone:
                self._next = self._clock() + self._interval
            self._condition.notify_all()

    def _tell(self, monitor: HealthMonitor, gpu: Gpu, answer: Answer) -> None:
        with self._condition:
            if self._monitor is not monitor:
                return
            self._health.answered(gpu, answer)
        if answer.watching is not None and answer.watching.gpu is Watch.UNSUPPORTED:
            self._once(_EVENTLESS, topic=gpu.uuid, say=partial(self._log.info, device=gpu.uuid))
        elif answer.watching is not None:
            self._once.over(gpu.uuid)


def _late(fault: Fault, watch: bool) -> Answer:
    return Answer(watching=Watching(gpu=fault) if watch else None, probe=Probe(fault=fault, recovery=None))
