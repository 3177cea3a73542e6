"""The thread that waits for the driver's events, and nothing else, so that no GPU keeps it from hearing of others."""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable

from gpu_core.devices.backend import Backend, DeviceEvent, EventKind, HealthMonitor
from gpu_core.devices.driver_threads import DEADLINE, DriverThreads, StuckCall
from gpu_core.devices.model import NO_ANSWER, Fault
from gpu_core.errors import Ending, NvmlCallError
from gpu_core.hardware.node_health import NodeHealth
from gpu_core.hardware.rounds import Rounds
from gpu_core.runtime.counters import Counters
from gpu_core.runtime.logs import get_logger
from gpu_core.runtime.pause import Pause, Retry

_WAIT = 0.25
"""Seconds of one wait for events, and so the most that stopping takes."""

_UNHEARD = Pause(first=1.0, longest=30.0)
"""Between two tries to receive events."""

_LOST = "GPU_IS_LOST"
"""What a wait for events answers when one of its GPUs fell off the bus."""

_SERIES = 30.0
"""Seconds in which no more event sets than there are GPUs can have failed for a GPU that was lost."""

_SAME_EVENT = 10.0
"""Seconds in which an event like one before is counted, but not logged: drivers can repeat one very often."""

_HANGS = Fault(call="EventSetWait", code=NO_ANSWER)


class HealthWatch:
    """Watches the GPUs of an open backend from `start` to `stop`. The backend may be closed only after that.

    `threads` are those of the process that are in the driver.
    """

    def __init__(
        self,
        backend: Backend,
        health: NodeHealth,
        threads: DriverThreads,
        *,
        probe_interval: float,
        counters: Counters,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._backend = backend
        self._health = health
        self._counters = counters
        self._clock = clock
        self._log = get_logger()
        self._failure = ""
        self._logged: dict[DeviceEvent, float] = {}
        # Guards what is known of the wait for events that is going on. Where it is late, the book is told under it, so
        # that nobody begins with another event set meanwhile. It is taken before the locks of rounds and book.
        self._waiting = threading.Lock()
        self._back_by = math.inf
        self._late_since: float | None = None
        self._lost: deque[float] = deque()
        self._closing: list[threading.Thread] = []
        self._unneeded = False
        self._stopping = threading.Event()
        self._rounds = Rounds(health, threads, interval=probe_interval, check=self._check_wait, clock=clock)
        self._thread = threading.Thread(target=self._run, name="health", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._rounds.start()
        self._thread.start()

    def catch_up(self, patience: float) -> None:
        """Wait at most `patience` seconds until every GPU that the book knows was asked to report its events.

        What is not watched after that is unhealthy, and becomes healthy as soon as it is.
        """
        self._rounds.catch_up(patience)

    def probe_every(self, interval: float) -> None:
        """Ask every GPU each `interval` seconds from now on."""
        self._rounds.every(interval)

    def stop(self, patience: float) -> bool:
        """End; returns whether both threads have ended within `patience` seconds. A driver that hangs keeps them."""
        self._stopping.set()
        end = time.monotonic() + patience
        self._thread.join(patience)
        ended = self._rounds.stop(max(0.0, end - time.monotonic()))
        for closing in self._closing:
            closing.join(max(0.0, end - time.monotonic()))
        return ended and not any(thread.is_alive() for thread in (self._thread, *self._closing))

    @property
    def running(self) -> bool:
        """Whether the GPUs are looked after; not any more where this platform has nothing to watch."""
        return self._thread.is_alive() and self._rounds.running

    @property
    def hanging(self) -> StuckCall | None:
        """The wait for events, where it has not come back in time."""
        since = self._late_since
        return None if since is None else StuckCall(call=_HANGS.call, since=since)

    def _run(self) -> None:
        try:
            self._keep_following()
        except Ending:
            self._stopping.set()
        finally:
            # However this came to its end: what nobody watches must not be called healthy.
            if not self._stopping.is_set() and not self._unneeded:
                self._health.unwatched(Fault(call="EventSetWait", code="UNKNOWN"))
            self._rounds.unwatched()
            self._counters.set(self._health.metrics.monitored, 0.0)

    def _keep_following(self) -> None:
        retry = Retry(pause=_UNHEARD)
        while not self._stopping.is_set():
            began = self._clock()
            try:
                monitor = self._backend.monitor()
                if monitor is None:
                    self._unneeded = True
                    return
                try:
                    self._follow(monitor)
                finally:
                    self._rounds.retire(monitor)
                    self._close(monitor)
            except NvmlCallError as error:
                if self._stopping.is_set():
                    return
                if error.code == _LOST and self._forgive():
                    continue
                self._failed(Fault(call=error.call, code=error.code))
                # One that has worked for a while is worth another try soon.
                if self._clock() - began > _UNHEARD.longest:
                    retry.succeeded()
                self._stopping.wait(retry.failed())

    def _forgive(self) -> bool:
        """Whether an event set may have failed since one more GPU has gone.

        Another set serves the others then, and which one it is, each GPU's own answer tells. GPUs may go one after the
        other, as those behind one switch do. Where more sets fail than there are GPUs, nothing is known of any of them.
        """
        now = self._clock()
        self._lost = deque(at for at in self._lost if now - at < _SERIES)
        self._lost.append(now)
        return len(self._lost) <= len(self._health.book.gpus)

    def _follow(self, monitor: HealthMonitor) -> None:
        """Wait for events until we stop. Raises NvmlCallError when waiting fails, or has taken too long."""
        self._rounds.use(monitor)
        while not self._stopping.is_set():
            began = self._clock()
            event = self._wait(monitor)
            self._heard()
            if event is not None:
                self._health.event(event)
                self._note(event)
            elif self._clock() - began < _WAIT / 2:
                # A driver that has nothing to tell and does not wait for it would keep a core busy.
                self._stopping.wait(_WAIT)

    def _wait(self, monitor: HealthMonitor) -> DeviceEvent | None:
        with self._waiting:
            self._back_by = self._clock() + _WAIT + DEADLINE
        try:
            event = monitor.wait(_WAIT)
        finally:
            with self._waiting:
                self._back_by = math.inf
                late, self._late_since = self._late_since is not None, None
        if late:
            raise NvmlCallError(f"{_HANGS}.", call=_HANGS.call, code=_HANGS.code)
        return event

    def _check_wait(self) -> float:
        """Tell the book when a wait for events does not come back; return when to look again."""
        with self._waiting:
            now = self._clock()
            if self._late_since is not None:
                return math.inf
            if now < self._back_by:
                # One that begins now, unseen, is late at this time at the earliest.
                return min(self._back_by, now + _WAIT + DEADLINE)
            self._late_since = self._back_by
            self._failed(_HANGS)
            return math.inf

    def _close(self, monitor: HealthMonitor) -> None:
        """Give an event set back; unless we stop, beside all else, since even that may hang."""
        if self._stopping.is_set():
            monitor.close()
            return
        closing = threading.Thread(target=monitor.close, name="event-set", daemon=True)
        self._closing = [*(thread for thread in self._closing if thread.is_alive()), closing]
        closing.start()

    def _failed(self, fault: Fault) -> None:
        self._rounds.unwatched()
        self._health.unwatched(fault)
        self._counters.set(self._health.metrics.monitored, 0.0)
        if self._failure != str(fault):
            self._failure = str(fault)
            self._log.error("The driver's health events cannot be received; trying again", reason=self._failure)

    def _heard(self) -> None:
        self._counters.set(self._health.metrics.monitored, 1.0)
        if self._failure:
            self._failure = ""
            self._log.info("The driver's health events are received again")

    def _note(self, event: DeviceEvent) -> None:
        if event.kind is EventKind.XID:
            self._counters.add(self._health.metrics.events, xid=str(event.data))
        now = self._clock()
        self._logged = {known: at for known, at in self._logged.items() if now - at < _SAME_EVENT}
        if event not in self._logged:
            self._logged[event] = now
            verdict = self._health.book.verdict(event)
            advice = {"advice": verdict.advice} if verdict.advice else {}
            self._log.info("The driver reported an event", device=event.gpu_uuid, reason=verdict.reason, **advice)
