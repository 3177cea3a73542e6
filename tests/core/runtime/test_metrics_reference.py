"""The reference of metrics says what the programs count, in the programs' own words."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType

import config_manager.metrics
import device_plugin.metrics
import gpu_core.runtime.metrics
import gpu_feature_discovery.metrics
import mps_control_daemon.metrics
from gpu_core.runtime.metrics import Metric, MetricKind

REFERENCE = Path(__file__).parents[3] / "docs/reference/metrics.md"
MODULES: tuple[ModuleType, ...] = (
    gpu_core.runtime.metrics,
    device_plugin.metrics,
    gpu_feature_discovery.metrics,
    config_manager.metrics,
    mps_control_daemon.metrics,
)
METRICS = [metric for module in MODULES for metric in vars(module).values() if isinstance(metric, Metric)]


def row(metric: Metric) -> str:
    labels = ", ".join(f"`{label}`" for label in metric.labels) or "-"
    return f"| `{metric.name}` | {metric.kind} | {labels} | {metric.help} |"


def test_every_metric_is_described() -> None:
    written = [line for line in REFERENCE.read_text("utf-8").splitlines() if re.match(r"\| `\w+` \|", line)]
    assert written == [row(metric) for metric in METRICS]


def test_names_follow_prometheus_conventions() -> None:
    names = [metric.name for metric in METRICS]
    assert len(names) == len(set(names))
    for metric in METRICS:
        assert re.fullmatch(r"[a-z][a-z0-9_]*", metric.name)
        assert metric.name.endswith("_total") is (metric.kind is MetricKind.COUNTER)
        assert bool(metric.bounds) is (metric.kind is MetricKind.HISTOGRAM)
        assert metric.help.endswith(".")
