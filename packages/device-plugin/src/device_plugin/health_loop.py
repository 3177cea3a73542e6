"""The thread that watches the node's GPUs: it waits for the driver's events, and asks each GPU now and then."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping

from device_plugin.metrics import EVENTS, MONITORED
from device_plugin.node_health import NodeHealth
from gpu_core.devices.backend import Backend
from gpu_core.devices.events import DeviceEvent, EventKind, HealthMonitor, Watch
from gpu_core.devices.model import Fault, Gpu
from gpu_core.errors import NvmlCallError
from gpu_core.runtime.counters import Counters
from gpu_core.runtime.logs import get_logger

_WAIT = 0.25
"""Seconds of one wait for events, and so the most that stopping takes."""

_FIRST_PAUSE = 1.0
_LONGEST_PAUSE = 30.0

_LOST = "GPU_IS_LOST"
"""What a wait for events answers when one of its GPUs fell off the bus."""

_SAME_EVENT = 10.0
"""Seconds in which an event like one before is counted, but not logged: drivers can repeat one very often."""


class HealthLoop:
    """Watches the GPUs of an open backend from `start` to `stop`. The backend may be closed only after that."""

    def __init__(
        self,
        backend: Backend,
        health: NodeHealth,
        *,
        probe_interval: float,
        counters: Counters,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._backend = backend
        self._health = health
        self._probe_interval = probe_interval
        self._counters = counters
        self._clock = clock
        self._log = get_logger()
        self._failure = ""
        self._logged: dict[DeviceEvent, float] = {}
        self._round = threading.Condition()
        self._covered: frozenset[str] = frozenset()
        self._blind = False
        self._unneeded = False
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="health", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def catch_up(self, patience: float) -> None:
        """Wait at most `patience` seconds until every GPU that the book knows is watched and was asked once.

        After that what is not known to be sick may be called healthy. A driver that takes longer makes all devices sick
        until it has answered.
        """
        wanted = frozenset(gpu.uuid for gpu in self._health.book.gpus)
        with self._round:
            done = self._round.wait_for(lambda: self._blind or wanted <= self._covered, patience)
        if not done:
            self._health.blind(Fault(call="EventSetCreate", code="TIMEOUT"))

    def stop(self, patience: float) -> bool:
        """End; returns whether the thread has ended within `patience` seconds. A driver that hangs keeps it."""
        self._stopping.set()
        self._thread.join(patience)
        return not self._thread.is_alive()

    @property
    def running(self) -> bool:
        """Whether the GPUs are looked after; not any more where this platform has nothing to watch."""
        return self._thread.is_alive()

    def _run(self) -> None:
        try:
            self._keep_following()
        finally:
            # However this came to its end: what nobody watches must not be called healthy.
            if not self._stopping.is_set() and not self._unneeded:
                self._health.blind(Fault(call="EventSetWait", code="UNKNOWN"))
            self._cover(frozenset(), blind=True)
            self._counters.set(MONITORED, 0.0)

    def _keep_following(self) -> None:
        pause = _FIRST_PAUSE
        forgiven = -math.inf
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
                    monitor.close()
            except NvmlCallError as error:
                if error.code == _LOST and self._clock() - forgiven > _LONGEST_PAUSE:
                    # One GPU has gone. Another event set serves the others, and which one it is, each GPU's own answer
                    # tells; when that set fails as soon, nothing is known of any of them.
                    forgiven = self._clock()
                    continue
                self._failed(Fault(call=error.call, code=error.code))
                self._cover(frozenset(), blind=True)
                # One that has worked for a while is worth another try soon.
                pause = _FIRST_PAUSE if self._clock() - began > _LONGEST_PAUSE else pause
                self._stopping.wait(pause)
                pause = min(pause * 2, _LONGEST_PAUSE)

    def _follow(self, monitor: HealthMonitor) -> None:
        """Watch until we stop. Raises NvmlCallError when waiting fails."""
        watched: dict[str, Watch | Fault] = {}
        next_probe = self._clock()
        while not self._stopping.is_set():
            now = self._clock()
            due = now >= next_probe
            gpus = {gpu.uuid: gpu for gpu in self._health.book.gpus}
            fresh = gpus.keys() - watched.keys()
            self._watch(monitor, gpus, watched, again=due)
            for uuid, gpu in gpus.items():
                if due or uuid in fresh:
                    self._health.probed(gpu, monitor.probe(gpu))
            if due:
                next_probe = self._clock() + self._probe_interval
            self._cover(frozenset(gpus), blind=False)
            event = monitor.wait(min(_WAIT, max(0.0, next_probe - self._clock())))
            self._heard()
            if event is not None:
                self._health.event(event)
                self._note(event)

    def _watch(
        self, monitor: HealthMonitor, gpus: Mapping[str, Gpu], watched: dict[str, Watch | Fault], *, again: bool
    ) -> None:
        """Ask for the events of GPUs that are new, and `again` of those that refused."""
        for uuid in watched.keys() - gpus.keys():
            del watched[uuid]
        for uuid, gpu in gpus.items():
            before = watched.get(uuid)
            if before is None or (again and isinstance(before, Fault)):
                watched[uuid] = monitor.watch(gpu)
                self._health.watched(gpu, watched[uuid])
                if watched[uuid] is Watch.UNSUPPORTED:
                    self._log.info("This GPU reports no events; it is asked from time to time only", device=uuid)

    def _cover(self, uuids: frozenset[str], *, blind: bool) -> None:
        with self._round:
            self._covered, self._blind = uuids, blind
            self._round.notify_all()

    def _failed(self, fault: Fault) -> None:
        self._health.blind(fault)
        self._counters.set(MONITORED, 0.0)
        if self._failure != str(fault):
            self._failure = str(fault)
            self._log.error("The driver's health events cannot be received; trying again", reason=self._failure)

    def _heard(self) -> None:
        self._counters.set(MONITORED, 1.0)
        if self._failure:
            self._failure = ""
            self._log.info("The driver's health events are received again")

    def _note(self, event: DeviceEvent) -> None:
        if event.kind is EventKind.XID:
            self._counters.add(EVENTS, xid=str(event.data))
        now = self._clock()
        self._logged = {known: at for known, at in self._logged.items() if now - at < _SAME_EVENT}
        if event not in self._logged:
            self._logged[event] = now
            verdict = self._health.book.verdict(event)
            self._log.info("The driver reported an event", device=event.gpu_uuid, reason=verdict.reason)
