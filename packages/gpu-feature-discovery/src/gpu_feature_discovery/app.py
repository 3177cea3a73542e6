"""Keeps the node's labels right for as long as the node lives."""

from __future__ import annotations

import contextlib
import random
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace

from gpu_cluster import Backoff, UnauthorizedError
from gpu_core.config.load import Loaded
from gpu_core.config.programs.gpu_feature_discovery import GfdSettings
from gpu_core.devices.driver_threads import StuckCall
from gpu_core.errors import Ending, HardwareError, PublishError, SuiteError
from gpu_core.hardware.source import NodeSource
from gpu_core.labels import Labels
from gpu_core.runtime.config_in_use import ConfigInUse
from gpu_core.runtime.counters import Counters
from gpu_core.runtime.logs import get_logger
from gpu_core.runtime.once import Once
from gpu_core.runtime.supervise import Actions, EventQueue, Stop
from gpu_feature_discovery.machine import Machine, machine_of
from gpu_feature_discovery.metrics import CONFIG_LOADS, FAILURES, LABELS, LAST_PUBLISHED, PASSES, PUBLISHED
from gpu_feature_discovery.outputs.destination import Opener, destination, stands_in_for_nfd
from gpu_feature_discovery.outputs.leftovers import REACTION, Leftovers
from gpu_feature_discovery.outputs.patient import patiently
from gpu_feature_discovery.publishing import Publisher
from gpu_feature_discovery.schedule import LOOK, Schedule
from gpu_feature_discovery.standing import Standing
from gpu_feature_discovery.survey import survey, survey_without_driver


class App:
    """Describes the node when its time has come, when it has changed, and when it was told to.

    `clock` gives monotonic seconds, `now` seconds since 1970. A configuration that cannot be used is refused as a whole
    while running: the one before stays.
    """

    def __init__(
        self,
        loaded: Loaded[GfdSettings],
        source: NodeSource,
        events: EventQueue,
        *,
        clock: Callable[[], float],
        now: Callable[[], float],
        counters: Counters,
    ) -> None:
        self._events = events
        self._source = source
        self._clock = clock
        self._now = now
        self._counters = counters
        self._log = get_logger()
        self._once = Once(self._log.warning)
        # One for all configurations: what was begun under one goes on under the next.
        printed = patiently(sys.stdout)
        self._opener = Opener(
            clock=clock,
            warn=self._log.warning,
            stopped=lambda: events.told_to_end,
            print_to=lambda: printed,
        )
        self._leftovers = Leftovers(later=self._opener.later, clock=clock, warn=self._log.warning)
        self._found_driver = False
        self._config = ConfigInUse(loaded, counters=counters, loads=CONFIG_LOADS)
        self.standing = Standing()
        """What is true now, for those who ask from other threads."""
        self._apply(loaded)

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Take back what must not outlive the program, however it ends."""
        try:
            yield
        finally:
            self._leftovers.withdraw()
            try:
                self._publisher.output.withdraw()
            except PublishError as error:
                self._log.warning(str(error))

    def act(self, actions: Actions) -> float | None:
        """Do what is asked for or due, and return in how many seconds there may be more to do."""
        if actions.stop:
            self._log.info("Stopping", reason=", ".join(actions.stop))
            return None
        if actions.reload:
            self._reload(actions.reload)
        reason = self._schedule.reason(self._clock(), self._machine.traces(), asked=actions.rescan)
        if reason is not None:
            self._log.debug("Describing the node", reason=reason)
            self._guarded_pass()
        return min(self._schedule.wait(self._clock()), self._tend())

    @property
    def loaded(self) -> Loaded[GfdSettings]:
        """The configuration in use."""
        return self._config.loaded

    def stuck(self) -> tuple[StuckCall, ...]:
        """Return the calls into the driver that have not returned in time; any thread may ask."""
        return self._source.threads.stuck()

    def _apply(self, loaded: Loaded[GfdSettings]) -> None:
        """Take a configuration into use. Raises SuiteError, and changes nothing, when it cannot be used."""
        self._config.tell(loaded)
        loaded.raise_refused()
        where = destination(loaded)
        machine = machine_of(
            loaded,
            self._source,
            timestamp=int(self._now()),
            seek_gpus=stands_in_for_nfd(loaded),
            warn=self._once,
        )
        output = self._opener.open(where, loaded)
        former = self._opener.former(where, loaded)
        for warning in loaded.warnings:
            self._log.warning(warning)
        self._machine: Machine = machine
        self._publisher = Publisher(
            output, backoff=Backoff(chance=random.random), clock=self._clock, warn=self._publish_failed
        )
        self._leftovers.expect((*output.parts, *former))
        self._schedule = Schedule(interval=loaded.config.flags.gfd.sleep_interval)

    def _reload(self, reasons: tuple[str, ...]) -> None:
        fresh = self._config.reload(reasons)
        if fresh is not None:
            try:
                self._apply(fresh)
            except SuiteError as error:
                self._config.refuse(error)
            else:
                self._config.accept(fresh)
                return
        self._counters.add(FAILURES, kind="config")

    def _guarded_pass(self) -> None:
        """Make a pass; raise only what ends the program: no driver from the start, or a token that is refused."""
        try:
            self._pass()
        except (HardwareError, UnauthorizedError, Ending):
            raise
        except Exception as error:  # noqa: BLE001  No mistake, ours or another's, may take away labels that are right.
            self._counters.add(FAILURES, kind="labels")
            self.standing = replace(self.standing, problem=f"the node could not be described: {error}")
            self._log.error(
                "The node could not be described; its labels stay as they are",
                error=str(error),
                exc_info=not isinstance(error, SuiteError),
            )
            self._schedule.done(self._clock(), self._machine.traces(), retry=None)

    def _pass(self) -> None:
        self._counters.add(PASSES)
        self._once.next_pass()
        labels = self._describe()
        self._once.all(labels.notes, say=self._log.info)
        self._once.all(labels.warnings)
        for failure in labels.failures:
            self._counters.add(FAILURES, kind="labels")
            self._once(failure)
        retry = self._publisher.publish(labels.values)
        self._schedule.done(self._clock(), self._machine.traces(), retry=retry)
        if retry is not None:
            return
        self._leftovers.published(self._publisher.output.active, labels.values)
        now = self._now()
        self._counters.add(PUBLISHED)
        self._counters.set(LABELS, len(labels.values))
        self._counters.set(LAST_PUBLISHED, now)
        place = self._publisher.output.place
        self.standing = replace(self.standing, labels=labels.values, place=place, published=now, problem="")
        if self.loaded.config.flags.gfd.oneshot:
            self._events.put(Stop("the configuration asks for one pass only"))

    def _describe(self) -> Labels:
        config = self.loaded.config
        facts = self._machine.facts()
        try:
            labels = survey(self._source.open(config), facts, config)
        except HardwareError as error:
            # A driver that was there once is being replaced; one that never was may be asked for in vain.
            if config.flags.fail_on_init_error and not self._found_driver:
                raise
            labels = survey_without_driver(error, facts, config)
            if labels.failures:
                self._counters.add(FAILURES, kind="driver")
            self.standing = replace(self.standing, driver=str(error) if labels.failures else "")
            return labels
        self._found_driver = True
        self.standing = replace(self.standing, driver="")
        return labels

    def _publish_failed(self, message: str) -> None:
        self._counters.add(FAILURES, kind="publish")
        self.standing = replace(self.standing, problem=message)
        self._once(message)

    def _tend(self) -> float:
        """Take back what other destinations still hold, and return in how many seconds there may be more of that."""
        try:
            if self._leftovers.tend():
                self._schedule.hasten(self._clock() + REACTION)
        except Ending:
            raise
        except Exception as error:  # noqa: BLE001  What is left elsewhere is less than the labels that are right here.
            self._log.error("Labels in other destinations could not be looked for", exc_info=error)
        wait = self._leftovers.wait()
        return LOOK if wait is None else wait
