"""What a number about a program is: the family it belongs to, and one sample of it. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

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
