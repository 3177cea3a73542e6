"""The numbers that a program keeps about itself, from its start; what serves them reads a snapshot."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from gpu_core.runtime.metrics import LabelValues, Metric, MetricKind, Sample

__all__ = ["Counters", "Metric", "MetricKind", "Sample"]


@dataclass(slots=True)
class _Observations:
    """What a histogram has seen: how many per bucket, the one above all bounds last, and the sum of all."""

    counts: list[int]
    total: float = 0.0


class Counters:
    """Numbers by metric and labels; any thread may change them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._values: dict[tuple[Metric, LabelValues], float] = {}
        self._observed: dict[tuple[Metric, LabelValues], _Observations] = {}

    def add(self, metric: Metric, amount: float = 1.0, **labels: str) -> None:
        """Let a number grow, from zero when it is new."""
        key = (metric, _ordered(metric, labels))
        with self._lock:
            self._values[key] = self._values.get(key, 0.0) + amount

    def set(self, metric: Metric, value: float, **labels: str) -> None:
        """Set a number."""
        with self._lock:
            self._values[metric, _ordered(metric, labels)] = value

    def observe(self, metric: Metric, value: float, **labels: str) -> None:
        """Count an observation in a histogram."""
        key = (metric, _ordered(metric, labels))
        with self._lock:
            seen = self._observed.setdefault(key, _Observations([0] * (len(metric.bounds) + 1)))
            seen.counts[bisect_left(metric.bounds, value)] += 1
            seen.total += value

    def replace(self, metric: Metric, values: Iterable[tuple[dict[str, str], float]]) -> None:
        """Set all numbers of a family at once; those that are not among `values` are gone."""
        fresh = {(metric, _ordered(metric, labels)): value for labels, value in values}
        with self._lock:
            self._values = {key: value for key, value in self._values.items() if key[0] != metric} | fresh

    def snapshot(self) -> tuple[Sample, ...]:
        """Return every number as it is now, sorted by name and labels; a histogram's buckets by their bounds."""
        with self._lock:
            groups: dict[tuple[str, LabelValues], tuple[Sample, ...]] = {
                (metric.name, labels): (Sample(metric=metric, labels=labels, value=value),)
                for (metric, labels), value in self._values.items()
            }
            for (metric, labels), seen in self._observed.items():
                groups[metric.name, labels] = tuple(_histogram(metric, labels, seen))
        return tuple(sample for _, group in sorted(groups.items(), key=lambda item: item[0]) for sample in group)


def _histogram(metric: Metric, labels: LabelValues, seen: _Observations) -> Iterator[Sample]:
    """Give the samples of a histogram; a bucket holds all observations up to its bound, so the counts add up."""
    so_far = 0
    for bound, count in zip((*metric.bounds, float("inf")), seen.counts, strict=True):
        so_far += count
        upper = "+Inf" if bound == float("inf") else f"{bound:g}"
        yield Sample(metric=metric, labels=(*labels, ("le", upper)), value=float(so_far), suffix="_bucket")
    yield Sample(metric=metric, labels=labels, value=seen.total, suffix="_sum")
    yield Sample(metric=metric, labels=labels, value=float(so_far), suffix="_count")


def _ordered(metric: Metric, labels: dict[str, str]) -> LabelValues:
    if set(labels) != set(metric.labels):
        raise ValueError(f"{metric.name} has the labels {metric.labels}, not {tuple(labels)}")
    return tuple((name, labels[name]) for name in metric.labels)
