"""The health of the node's devices, shared between threads: the one place where the book is replaced."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from gpu_core.devices.backend import Answer, DeviceEvent
from gpu_core.devices.model import Fault, Gpu, Inventory
from gpu_core.health.book import Changed, HealthBook, HealthRules
from gpu_core.health.ledger import Transition
from gpu_core.runtime.counters import Counters
from gpu_core.runtime.logs import get_logger
from gpu_core.runtime.metrics import Metric

Observer = Callable[[Transition, HealthBook], object]
"""Is told of each GPU or MIG device that became unhealthy or healthy, and what is known now; any thread may call it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthMetrics:
    """What a program calls its numbers about health.

    `events` counts XIDs by number (label `xid`), `transitions` changes of health (labels `health` and `cause`);
    `monitored` is 1 while events are received.
    """

    events: Metric
    monitored: Metric
    transitions: Metric


class NodeHealth:
    """Any thread may ask and tell. `observers` are called with each transition."""

    def __init__(
        self,
        rules: HealthRules,
        *,
        counters: Counters,
        metrics: HealthMetrics,
        observers: Iterable[Observer] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._lock = threading.Lock()
        self._clock = clock
        self._untold: deque[Transition] = deque()
        # Whoever has it tells what has changed. Nobody waits for it, least of all the thread that waits for events.
        self._telling = threading.Lock()
        self._book = HealthBook(rules=rules, started=clock())
        self._changed: Callable[[], object] = lambda: None
        self._counters = counters
        self.metrics = metrics
        self._observers = tuple(observers)
        self._log = get_logger()

    @property
    def book(self) -> HealthBook:
        """What is known now."""
        return self._book

    def current(self) -> HealthBook:
        """Return what is known now, for those who ask again and again."""
        return self._book

    def listen(self, changed: Callable[[], object]) -> None:
        """Have `changed` called after every change, in place of whoever was called before."""
        self._changed = changed

    def inventory(self, inventory: Inventory) -> None:
        """Take note of what the node has."""
        self._apply(lambda book, now: book.after_inventory(inventory, now))

    def rules(self, rules: HealthRules) -> None:
        """Judge by other rules from now on."""
        self._apply(lambda book, now: book.after_rules(rules, now))

    def event(self, event: DeviceEvent) -> None:
        """Take note of an event."""
        self._apply(lambda book, now: book.after_event(event, now))

    def unwatched(self, fault: Fault | None = None) -> None:
        """Take note that no events are received any more: for a fault, or since nobody waits for them."""
        changed = self._apply(lambda book, now: book.after_unwatched(fault, now))
        if changed and fault is None:
            self._log.warning("Nobody receives the driver's health events; no device is healthy until somebody does")

    def answered(self, gpu: Gpu, answer: Answer) -> None:
        """Take note of what a GPU said when it was asked."""
        self._apply(lambda book, now: book.after_answer(gpu.uuid, answer, now))

    def unshareable(self, reasons: Mapping[str, str]) -> None:
        """Take note of which GPUs their MPS control daemons cannot share, each with the reason, and of no others."""
        self._apply(lambda book, now: book.after_daemons(reasons, now))

    def _apply(self, step: Callable[[HealthBook, float], Changed]) -> bool:
        """Replace the book, and tell what has changed; returns whether anything has."""
        with self._lock:
            before = self._book
            self._book, transitions = step(before, self._clock())
            self._untold.extend(transitions)
            changed = self._book is not before
        if changed:
            self._changed()
        self._tell_all()
        return changed

    def _tell_all(self) -> None:
        """Tell transitions in the order in which they came about; whoever is at it tells those of others too."""
        while self._untold and self._telling.acquire(blocking=False):
            try:
                while self._untold:
                    self._tell(self._untold.popleft())
            finally:
                self._telling.release()

    def _tell(self, transition: Transition) -> None:
        word = "healthy" if transition.healthy else "unhealthy"
        self._counters.add(self.metrics.transitions, health=word, cause=transition.cause.value)
        said = {"device": transition.uuid, "reason": transition.reason}
        if transition.healthy:
            self._log.info("A device is healthy now", **said)
        else:
            self._log.warning("A device is unhealthy now", **said, advice=transition.advice)
        for observer in self._observers:
            observer(transition, self._book)
