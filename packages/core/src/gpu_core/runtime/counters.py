"""The numbers that a program keeps about itself, from its start; what serves them reads a snapshot."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

LabelValues = tuple[tuple[str, str], ...]


class MetricKind(StrEnum):
    """How a number behaves: a counter only grows, a gauge is set."""

    COUNTER = "counter"
    GAUGE = "gauge"


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A family of numbers: its name and help as Prometheus shows them, and the names of its labels, in order."""

    name: str
    help: str
    kind: MetricKind = MetricKind.COUNTER
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One number of a family. `labels` are (name, value) in the family's order."""

    metric: Metric
    labels: LabelValues
    value: float


class Counters:
    """Numbers by metric and labels; any thread may change them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._values: dict[tuple[Metric, LabelValues], float] = {}

    def add(self, metric: Metric, amount: float = 1.0, **labels: str) -> None:
        """Let a number grow, from zero when it is new."""
        key = (metric, _ordered(metric, labels))
        with self._lock:
            self._values[key] = self._values.get(key, 0.0) + amount

    def set(self, metric: Metric, value: float, **labels: str) -> None:
        """Set a number."""
        with self._lock:
            self._values[metric, _ordered(metric, labels)] = value

    def replace(self, metric: Metric, values: Iterable[tuple[dict[str, str], float]]) -> None:
        """Set all numbers of a family at once; those that are not among `values` are gone."""
        fresh = {(metric, _ordered(metric, labels)): value for labels, value in values}
        with self._lock:
            self._values = {key: value for key, value in self._values.items() if key[0] != metric} | fresh

    def snapshot(self) -> tuple[Sample, ...]:
        """Return every number as it is now, sorted by name and labels."""
        with self._lock:
            values = dict(self._values)
        samples = (Sample(metric=metric, labels=labels, value=value) for (metric, labels), value in values.items())
        return tuple(sorted(samples, key=lambda sample: (sample.metric.name, sample.labels)))


def _ordered(metric: Metric, labels: dict[str, str]) -> LabelValues:
    if set(labels) != set(metric.labels):
        raise ValueError(f"{metric.name} has the labels {metric.labels}, not {tuple(labels)}")
    return tuple((name, labels[name]) for name in metric.labels)
