"""The main loop: sightings of the Node and changes of files in, looks and signals out."""

from __future__ import annotations

import queue
from collections.abc import Callable
from dataclasses import dataclass
from typing import assert_never

from config_manager.agenda import Agenda, earliest
from config_manager.report import Reporter
from config_manager.switch import GivenUp, Switch
from config_manager.watch import Following, LabelSeen, NodeGone, Report, Trouble
from gpu_core.errors import ConfigError
from gpu_core.runtime.events import Reload, Stop
from gpu_core.runtime.probes import Pulse


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesChanged:
    """Something changed in the config directory, or at the link's place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Crashed:
    """A thread ended by a fault of our own; without it the program would be deaf, so it ends too."""

    error: Exception


Event = Report | FilesChanged | Crashed | Reload | Stop


class Loop:
    """Takes events from one queue until `Stop`, or with `once` until the config is in place and the signal sent.

    Nothing on disk is touched before the first `LabelSeen`.
    """

    def __init__(
        self,
        switch: Switch,
        events: queue.SimpleQueue[Event],
        reporter: Reporter,
        *,
        agenda: Agenda,
        clock: Callable[[], float],
        pulse: Pulse,
        programs: str,
        once: bool,
    ) -> None:
        self._switch = switch
        self._events = events
        self._reporter = reporter
        self._agenda = agenda
        self._clock = clock
        self._pulse = pulse
        self._programs = programs
        self._once = once
        self._label: LabelSeen | None = None
        self._looked = False

    def run(self) -> None:
        """Run to the end. With `once`, raises ConfigError for what would be waited for otherwise."""
        while True:
            with self._pulse.turn():
                self._act()
            if self._once and self._looked and self._switch.deliver_at is None:
                return
            wait = earliest(self._clock(), self._agenda.look_at, self._switch.deliver_at)
            try:
                event = self._events.get(timeout=wait)
            except queue.Empty:
                continue
            if isinstance(event, Stop):
                return
            if isinstance(event, Crashed):
                raise event.error
            self._take(event)

    def _take(self, event: Report | FilesChanged | Reload) -> None:
        match event:
            case LabelSeen():
                self._reporter.saw(event)
                if self._label is None:
                    self._agenda.label_known(self._clock())
                else:
                    self._agenda.changed(self._clock())
                self._label = event
            case NodeGone():
                # A node that is deleted and made anew shows its label then; until that the last one counts.
                self._reporter.saw(event)
            case Trouble():
                self._reporter.cannot_follow(event)
            case Following():
                self._reporter.follows()
            case FilesChanged() | Reload():
                self._agenda.changed(self._clock())
            case _:
                assert_never(event)

    def _act(self) -> None:
        """Do what is due."""
        now = self._clock()
        if self._label is not None and self._agenda.due(now):
            settled = self._switch.settle(self._label.value, now)
            self._reporter.settled(settled)
            self._agenda.looked(now, failed=bool(settled.problem))
            self._looked = True
            if self._once and settled.problem:
                raise ConfigError(settled.problem)
        if self._switch.deliver_at is not None and now >= self._switch.deliver_at:
            delivery = self._switch.deliver(now)
            self._reporter.delivered(delivery, self._programs)
            if self._once and isinstance(delivery, GivenUp):
                raise ConfigError(delivery.problem)
