"""Numbers about a program: the families they belong to, those that every program has, and their text. Pure.

The text is Prometheus' text format, version 0.0.4. Prometheus' own client library would do this too, at the cost of
146 ms and 22 MiB in every program; the tests read what is written here with its parser.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

LabelValues = tuple[tuple[str, str], ...]


class MetricKind(StrEnum):
    """How a number behaves: a counter only grows, a gauge is set, a histogram counts observations by size."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A family of numbers: its name and help as Prometheus shows them, and the names of its labels, in order.

    `bounds` are the upper bounds of a histogram's buckets, ascending; what is above the last one counts only in total.
    """

    name: str
    help: str
    kind: MetricKind = MetricKind.COUNTER
    labels: tuple[str, ...] = ()
    bounds: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One number of a family. `labels` are (name, value) in the family's order.

    A histogram has several: `suffix` tells them apart as Prometheus does, and `le` follows the labels of a bucket.
    """

    metric: Metric
    labels: LabelValues
    value: float
    suffix: str = ""


BUILD = Metric(
    name="gpu_suite_build_info",
    help="1, with the program's version and Python's.",
    kind=MetricKind.GAUGE,
    labels=("program", "version", "python"),
)
CONFIG = Metric(
    name="gpu_suite_config_info",
    help="1, with the name of the config file in use and the SHA-256 of its text; both are empty without a file.",
    kind=MetricKind.GAUGE,
    labels=("name", "digest"),
)
READY = Metric(
    name="gpu_suite_ready", help="1 while the program does its work, as /readyz says, else 0.", kind=MetricKind.GAUGE
)
TURNED_AWAY = Metric(
    name="gpu_suite_http_turned_away_total",
    help="Connections to this server that got no page, by reason: malformed (or over 8 KiB), late (after ten seconds), "
    "displaced (by newer ones, as all places were taken).",
    labels=("reason",),
)
EVENTS_DROPPED = Metric(
    name="gpu_suite_events_dropped_total",
    help="Kubernetes Events that were not posted: too many about this node, too many waiting, refused, or not in time "
    "at the end.",
)
STUCK_CALLS = Metric(
    name="gpu_suite_stuck_driver_calls",
    help="Calls into the driver that have not returned in time, by function; each holds a thread until it returns.",
    kind=MetricKind.GAUGE,
    labels=("call",),
)
LOST_LINES = Metric(
    name="gpu_suite_lost_lines_total",
    help="Lines that were to be written to standard output or error, and that nobody took, by stream.",
    labels=("stream",),
)
CPU = Metric(name="process_cpu_seconds_total", help="CPU time that the process has used, in seconds.")
MEMORY = Metric(name="process_resident_memory_bytes", help="Resident memory in bytes.", kind=MetricKind.GAUGE)
FILES = Metric(name="process_open_fds", help="Open file descriptors.", kind=MetricKind.GAUGE)
STARTED = Metric(
    name="process_start_time_seconds",
    help="When the process started, in seconds since 1970.",
    kind=MetricKind.GAUGE,
)
"""The last four have the names that Prometheus' own client libraries give them."""


def metrics_text(samples: Iterable[Sample]) -> str:
    """Return the text. Samples of one family must follow each other, as in a snapshot of the counters."""
    lines: list[str] = []
    for metric, family in groupby(samples, key=lambda sample: sample.metric):
        lines.append(f"# HELP {metric.name} {_help(metric.help)}")
        lines.append(f"# TYPE {metric.name} {metric.kind.value}")
        lines += [f"{metric.name}{sample.suffix}{_labels(sample.labels)} {_number(sample.value)}" for sample in family]
    return "".join(f"{line}\n" for line in lines)


def _labels(labels: LabelValues) -> str:
    return "{" + ",".join(f'{name}="{_value(value)}"' for name, value in labels) + "}" if labels else ""


def _help(text: str) -> str:
    return text.replace("\\", r"\\").replace("\n", r"\n")


def _value(text: str) -> str:
    return text.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


def _number(value: float) -> str:
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    if math.isnan(value):
        return "NaN"
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)
