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
from gpu_core.runtime.probes import Pulse
from gpu_core.runtime.supervise import Reload, Stop

SURE = 2.0
"""Seconds that a watch on the node has to last until it counts as the end of a trouble: some end at once."""


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
        self._follows_at: float | None = None
        self._looked = False

    def run(self) -> None:
        """Run to the end. With `once`, raises ConfigError for what would be waited for otherwise."""
        while True:
            with self._pulse.turn():
                self._act()
            if self._once and self._looked and self._switch.deliver_at is None:
                return
            wait = earliest(self._clock(), self._agenda.look_at, self._switch.deliver_at, self._follows_at)
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
                self._label = event
                self._agenda.asked(self._clock())
            case NodeGone():
                # A node that is deleted and made anew shows its label then; until that the last one counts.
                self._reporter.saw(event)
            case Trouble():
                self._follows_at = None
                self._reporter.cannot_follow(event)
            case Following():
                self._follows_at = self._clock() + SURE
            case FilesChanged():
                self._agenda.changed(self._clock())
            case Reload():
                if self._label is not None:
                    self._agenda.asked(self._clock())
            case _:
                assert_never(event)

    def _act(self) -> None:
        """Do what is due."""
        now = self._clock()
        if self._follows_at is not None and now >= self._follows_at:
            self._follows_at = None
            self._reporter.follows()
        looks = self._label is not None and self._agenda.due(now)
        problem = self._look(self._label.value, now) if looks and self._label is not None else ""
        delivers = self._switch.deliver_at is not None and now >= self._switch.deliver_at
        if delivers:
            self._deliver(now)
        if looks or delivers:
            lost = self._switch.keep_copy()
            if lost is not None:
                self._reporter.kept(lost)
            if looks or lost:
                self._agenda.looked(now, failed=bool(problem or lost))

    def _look(self, label: str | None, now: float) -> str:
        settled = self._switch.settle(label, now)
        self._reporter.settled(settled)
        self._looked = True
        if self._once and settled.problem:
            raise ConfigError(settled.problem)
        return settled.problem

    def _deliver(self, now: float) -> None:
        delivery = self._switch.deliver(now)
        self._reporter.delivered(delivery, self._programs)
        if self._once and isinstance(delivery, GivenUp):
            raise ConfigError(delivery.problem)
