"""Labels the node once and ends: for scripts, for people, and for cron-like pods."""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import Any, Protocol

from gpu_core.command import complain, tell
from gpu_core.config.load import Loaded
from gpu_core.config.programs.gpu_feature_discovery import GfdSettings
from gpu_core.config.words import LabelDestination
from gpu_core.errors import HardwareError
from gpu_core.hardware.source import NodeSource, node_source
from gpu_core.labels import Labels
from gpu_core.passing import clear_up
from gpu_feature_discovery.machine import Machine, machine_of
from gpu_feature_discovery.outputs.destination import (
    CLUSTER_DESTINATIONS,
    Opener,
    asked_by_person,
    destination,
    stands_in_for_nfd,
)
from gpu_feature_discovery.outputs.text import render
from gpu_feature_discovery.survey import describes_gpus, survey, survey_without_driver


class Log(Protocol):
    """The part of a logger that is used here."""

    def info(self, event: str, **fields: Any) -> object:
        """Log what is good to know."""

    def warning(self, event: str, **fields: Any) -> object:
        """Log what should be looked at."""


class PlainLog:
    """Tells a person on standard error what should be looked at, and nothing else."""

    def info(self, event: str, **fields: Any) -> None:
        """Leave out what only operators want."""

    def warning(self, event: str, **fields: Any) -> None:  # noqa: ARG002  the interface of a logger
        """Write one line."""
        complain(f"gfd: {event}")


def label_once(loaded: Loaded[GfdSettings]) -> int:
    """Publish the labels and return the exit code. Raises SuiteError where they are not whole or do not arrive."""
    log = PlainLog() if asked_by_person(loaded) else _operators_log(loaded)
    log.info("Running with config", config=loaded.effective())
    for warning in loaded.warnings:
        log.warning(warning)
    loaded.raise_refused()
    where = destination(loaded)
    if where is LabelDestination.FILE:
        clear_up((Path(loaded.config.flags.gfd.output_file).parent,), log.info)
    opener = Opener(clock=time.monotonic, warn=log.warning)
    output = opener.open(where, loaded)
    settings = loaded.settings
    source = node_source(settings.simulated_node, settings.simulated_events)
    seek_gpus = stands_in_for_nfd(loaded)
    machine = machine_of(loaded, source, timestamp=int(time.time()), seek_gpus=seek_gpus, warn=log.warning)
    labels = _whole_labels(source, machine, loaded, log)
    if where is LabelDestination.STDOUT:
        tell(render(labels.values, loaded.settings.format))
        return 0
    if where not in CLUSTER_DESTINATIONS:
        output.publish(labels.values)
        return 0
    from gpu_cluster import Backoff  # noqa: PLC0415  only where it is used
    from gpu_feature_discovery.outputs.leftovers import Leftovers  # noqa: PLC0415
    from gpu_feature_discovery.publishing import publish_once  # noqa: PLC0415

    publish_once(output, labels.values, backoff=Backoff(chance=random.random), sleep=time.sleep)
    # A pass of a daemon's own elsewhere on this node is none of our business, what we fell back to once is.
    leftovers = Leftovers(later=opener.later, clock=time.monotonic, warn=log.warning)
    leftovers.expect(output.parts)
    leftovers.published(output.active, labels.values)
    leftovers.tend()
    return 0


def _whole_labels(source: NodeSource, machine: Machine, loaded: Loaded[GfdSettings], log: Log) -> Labels:
    config = loaded.config
    try:
        backend = source.open(config)
    except HardwareError as error:
        if config.flags.fail_on_init_error:
            raise
        labels = survey_without_driver(error, machine.facts(), config)
    else:
        labels = survey(backend, machine.facts(), config)
        # CUDA on a Tegra chip starts while it is read; that it does not may be tolerated as well.
        tolerated = not (config.flags.fail_on_init_error or describes_gpus(labels))
        if labels.failures and not tolerated:
            raise HardwareError("\n".join(labels.failures))
    for note in labels.notes:
        log.info(note)
    for message in (*labels.warnings, *labels.failures):
        log.warning(message)
    return labels


def _operators_log(loaded: Loaded[GfdSettings]) -> Log:
    from gpu_core.runtime.logs import configure_by, get_logger  # noqa: PLC0415  costs as much as all labels

    configure_by(loaded.settings)
    return get_logger()
