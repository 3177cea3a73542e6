"""The reference of metrics says what the programs count, in the programs' own words."""

from __future__ import annotations

import ast
import re
from dataclasses import fields
from pathlib import Path
from types import ModuleType

import pytest

import config_manager.metrics
import device_plugin.metrics
import gpu_core.runtime.metrics
import gpu_feature_discovery.metrics
import mps_control_daemon.metrics
from gpu_core.hardware.node_health import HealthMetrics
from gpu_core.runtime.metrics import Metric, MetricKind

ROOT = Path(__file__).parents[3]
REFERENCE = ROOT / "docs/reference/metrics.md"
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


def handed_on(package: str) -> set[str]:
    """Return the names of what a package's code hands to functions, as in `counters.add(SCANS)`."""
    found = set()
    for file in (ROOT / "packages").glob(f"*/src/{package}/**/*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Call):
                for given in (*node.args, *(keyword.value for keyword in node.keywords)):
                    found |= {given.id} if isinstance(given, ast.Name) else set()
                    found |= {given.attr} if isinstance(given, ast.Attribute) else set()
    return found


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_every_metric_gets_its_number_from_somewhere(module: ModuleType) -> None:
    package = module.__name__.partition(".")[0]
    handed = handed_on("*" if package == "gpu_core" else package)
    names = [name for name, metric in vars(module).items() if isinstance(metric, Metric)]
    assert [name for name in names if name not in handed] == [], "Nothing sets it."


def test_every_metric_of_health_gets_its_number_from_somewhere() -> None:
    assert {field.name for field in fields(HealthMetrics)} <= handed_on("gpu_core")
