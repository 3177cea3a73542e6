"""Keeps the node's labels right for as long as the node lives."""

from __future__ import annotations

import contextlib
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from gpu_cluster import Backoff, UnauthorizedError
from gpu_core.config.load import Loaded
from gpu_core.config.settings import GfdSettings
from gpu_core.config.words import LogFormat
from gpu_core.errors import HardwareError, PublishError, SuiteError
from gpu_core.labels import Labels
from gpu_core.runtime.config_file import ConfigFileWatch
from gpu_core.runtime.counters import Counters, Metric
from gpu_core.runtime.events import EventQueue, Reload, Stop
from gpu_core.runtime.logs import configure, get_logger
from gpu_core.runtime.signals import signals_to
from gpu_core.runtime.supervise import Actions, supervise
from gpu_feature_discovery.destination import destination
from gpu_feature_discovery.hardware import NodeSource, node_source
from gpu_feature_discovery.once import Once
from gpu_feature_discovery.outputs import Output
from gpu_feature_discovery.outputs.choose import open_output
from gpu_feature_discovery.publishing import Publisher
from gpu_feature_discovery.schedule import Schedule
from gpu_feature_discovery.survey import survey, survey_without_driver

PASSES = Metric(name="gfd_passes_total", help="Times that the node was described.")
FAILURES = Metric(
    name="gfd_failures_total",
    help="Things that kept labels from being made or published, by kind: driver, labels, publish, config.",
    labels=("kind",),
)
LABELS = Metric(name="gfd_labels", help="Labels that were published last.")
LAST_PUBLISHED = Metric(name="gfd_last_published_timestamp_seconds", help="When labels were last published.")


def run_daemon(loaded: Loaded[GfdSettings]) -> int:
    """Run until a signal ends it. Raises SuiteError for what cannot be repaired by waiting."""
    settings = loaded.settings
    configure(json=settings.log_format is LogFormat.JSON, level=settings.log_level.value)
    events = EventQueue()
    daemon = Daemon(loaded, events, clock=time.monotonic, now=time.time, counters=Counters())
    with signals_to(events), _config_changes_to(events, loaded), daemon.running():
        supervise(events, daemon.act)
    return 0


@contextlib.contextmanager
def _config_changes_to(events: EventQueue, loaded: Loaded[GfdSettings]) -> Iterator[None]:
    path = loaded.settings.config_file
    if not path:
        yield
        return
    watch = ConfigFileWatch(
        Path(path),
        digest=loaded.config_text_digest,
        changed=lambda: events.put(Reload("the config file has changed")),
    )
    watch.start()
    try:
        yield
    finally:
        watch.stop()


class Daemon:
    """Describes the node when its time has come, when it has changed, and when it was told to.

    `clock` gives monotonic seconds, `now` seconds since 1970. A configuration that cannot be used is refused as a
    whole while running: the one before stays.
    """

    def __init__(
        self,
        loaded: Loaded[GfdSettings],
        events: EventQueue,
        *,
        clock: Callable[[], float],
        now: Callable[[], float],
        counters: Counters,
    ) -> None:
        self._events = events
        self._clock = clock
        self._now = now
        self._counters = counters
        self._log = get_logger()
        self._once = Once(self._log.warning)
        self._found_driver = False
        self._apply(loaded)

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Take back what must not outlive the program, however it ends."""
        try:
            yield
        finally:
            self._withdraw(self._publisher.output)

    def act(self, actions: Actions) -> float | None:
        """Do what is asked for or due, and return in how many seconds there may be more to do."""
        if actions.stop:
            self._log.info("Stopping", reason=", ".join(actions.stop))
            return None
        if actions.reload:
            self._reload(actions.reload)
        reason = self._schedule.reason(self._clock(), self._source.traces(), asked=actions.rescan)
        if reason is not None:
            self._log.debug("Describing the node", reason=reason)
            self._guarded_pass()
        return self._schedule.wait(self._clock())

    def _apply(self, loaded: Loaded[GfdSettings]) -> None:
        """Take a configuration into use. Raises SuiteError, and changes nothing, when it cannot be used."""
        self._log.info("Running with config", config=loaded.effective())
        loaded.raise_refused()
        source = node_source(loaded, timestamp=int(self._now()), warn=self._once)
        output = open_output(destination(loaded), loaded, warn=self._once)
        for warning in loaded.warnings:
            self._log.warning(warning)
        self._loaded = loaded
        self._source: NodeSource = source
        self._publisher = Publisher(output, backoff=Backoff(chance=random.random), warn=self._publish_failed)
        self._schedule = Schedule(interval=loaded.config.flags.gfd.sleep_interval)

    def _reload(self, reasons: tuple[str, ...]) -> None:
        self._log.info("Reading the configuration again", reason=", ".join(reasons))
        former = self._publisher.output
        try:
            self._apply(self._loaded.reload())
        except SuiteError as error:
            self._counters.add(FAILURES, kind="config")
            self._log.error("The new configuration is not used; the one before stays", error=str(error))
            return
        if former.place != self._publisher.output.place:
            self._withdraw(former)

    def _guarded_pass(self) -> None:
        """Make a pass; raise only what ends the program: no driver from the start, or a token that is refused."""
        try:
            self._pass()
        except (HardwareError, UnauthorizedError):
            raise
        except Exception as error:  # noqa: BLE001  No mistake, ours or another's, may take away labels that are right.
            self._counters.add(FAILURES, kind="labels")
            self._log.error(
                "The node could not be described; its labels stay as they are",
                error=str(error),
                exc_info=not isinstance(error, SuiteError),
            )
            self._schedule.done(self._clock(), self._source.traces(), retry=None)

    def _pass(self) -> None:
        self._counters.add(PASSES)
        self._once.next_pass()
        labels = self._describe()
        self._once.all(labels.warnings)
        for failure in labels.failures:
            self._counters.add(FAILURES, kind="labels")
            self._once(failure)
        retry = self._publisher.publish(labels.values)
        self._schedule.done(self._clock(), self._source.traces(), retry=retry)
        if retry is not None:
            return
        self._counters.set(LABELS, len(labels.values))
        self._counters.set(LAST_PUBLISHED, self._now())
        if self._loaded.config.flags.gfd.oneshot:
            self._events.put(Stop("the configuration asks for one pass only"))

    def _describe(self) -> Labels:
        config = self._loaded.config
        facts = self._source.facts()
        try:
            labels = survey(self._source.open(), facts, config)
        except HardwareError as error:
            # A driver that was there once is being replaced; one that never was may be asked for in vain.
            if config.flags.fail_on_init_error and not self._found_driver:
                raise
            self._counters.add(FAILURES, kind="driver")
            return survey_without_driver(error, facts, config)
        self._found_driver = True
        return labels

    def _publish_failed(self, message: str) -> None:
        self._counters.add(FAILURES, kind="publish")
        self._once(message)

    def _withdraw(self, output: Output) -> None:
        try:
            output.withdraw()
        except PublishError as error:
            self._log.warning(str(error))
