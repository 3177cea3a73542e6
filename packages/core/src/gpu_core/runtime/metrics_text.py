"""The numbers of a program in Prometheus' text format, version 0.0.4. Pure.

Prometheus' own client library would do this too, at the cost of 146 ms and 22 MiB in every program; the tests
read what is written here with its parser.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import groupby

from gpu_core.runtime.metrics import LabelValues, Sample

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


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
