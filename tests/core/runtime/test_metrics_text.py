"""What is written for Prometheus is read back by Prometheus' own parser."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from gpu_core.runtime.counters import Counters, Metric, MetricKind, Sample
from gpu_core.runtime.metrics import metrics_text

XIDS = Metric(name="xids_total", help="XIDs seen.", labels=("xid",))
DEVICES = Metric(name="devices", help="Devices,\nby \\health\\.", kind=MetricKind.GAUGE, labels=("resource", "health"))
LATENCY = Metric(
    name="latency_seconds", help="Time taken.", kind=MetricKind.HISTOGRAM, labels=("call",), bounds=(0.1, 1.0)
)


def read(text: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """Return every number in a text by its name and labels."""
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_counters_and_gauges_as_text() -> None:
    counters = Counters()
    counters.add(XIDS, 3, xid="79")
    counters.add(XIDS, xid="13")
    counters.set(DEVICES, 0.25, resource="nvidia.com/gpu", health="healthy")
    assert metrics_text(counters.snapshot()) == (
        "# HELP devices Devices,\\nby \\\\health\\\\.\n"
        "# TYPE devices gauge\n"
        'devices{resource="nvidia.com/gpu",health="healthy"} 0.25\n'
        "# HELP xids_total XIDs seen.\n"
        "# TYPE xids_total counter\n"
        'xids_total{xid="13"} 1\n'
        'xids_total{xid="79"} 3\n'
    )


def test_a_histogram_counts_up_to_each_bound() -> None:
    counters = Counters()
    for seconds in (0.1, 0.5, 0.5, 7.0):
        counters.observe(LATENCY, seconds, call="Allocate")
    call = ("call", "Allocate")
    assert read(metrics_text(counters.snapshot())) == {
        ("latency_seconds_bucket", (call, ("le", "0.1"))): 1,
        ("latency_seconds_bucket", (call, ("le", "1"))): 3,
        ("latency_seconds_bucket", (call, ("le", "+Inf"))): 4,
        ("latency_seconds_sum", (call,)): pytest.approx(8.1),
        ("latency_seconds_count", (call,)): 4,
    }


def test_kinds_and_helps_are_what_the_parser_finds() -> None:
    counters = Counters()
    counters.add(XIDS, xid="1")
    counters.set(DEVICES, 1, resource="r", health="h")
    counters.observe(LATENCY, 1, call="c")
    families = {
        family.name: (family.type, family.documentation)
        for family in text_string_to_metric_families(metrics_text(counters.snapshot()))
    }
    assert families == {
        "devices": ("gauge", DEVICES.help),
        "latency_seconds": ("histogram", "Time taken."),
        "xids": ("counter", "XIDs seen."),
    }


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (-3.0, "-3"),
        (0.1, "0.1"),
        (1e16, "1e+16"),
        (math.inf, "+Inf"),
        (-math.inf, "-Inf"),
        (math.nan, "NaN"),
    ],
)
def test_numbers_as_prometheus_writes_them(value: float, text: str) -> None:
    sample = Sample(metric=Metric(name="a", help="A.", kind=MetricKind.GAUGE), labels=(), value=value)
    assert metrics_text([sample]).splitlines()[-1] == f"a {text}"


@given(label=st.text(st.characters(exclude_categories=["Cs"])), value=st.floats() | st.integers(-(2**53), 2**53))
def test_every_label_and_number_survives(label: str, value: float) -> None:
    sample = Sample(metric=DEVICES, labels=(("resource", label), ("health", "")), value=value)
    (found,) = read(metrics_text([sample])).items()
    assert found[0] == ("devices", (("health", ""), ("resource", label)))
    assert found[1] == value or (math.isnan(found[1]) and math.isnan(value))


def test_no_numbers_are_an_empty_text() -> None:
    assert metrics_text(()) == ""
