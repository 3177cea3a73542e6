"""The numbers that gpu-feature-discovery keeps about itself. Pure."""

from __future__ import annotations

from gpu_core.runtime.metrics import Metric, MetricKind

PASSES = Metric(name="gfd_passes_total", help="Times that the node was described.")
PUBLISHED = Metric(name="gfd_publishes_total", help="Times that labels reached their destination.")
FAILURES = Metric(
    name="gfd_failures_total",
    help="Things that kept labels from being made or published, by kind: driver, labels, publish, config.",
    labels=("kind",),
)
LABELS = Metric(name="gfd_labels", help="Labels that were published last.", kind=MetricKind.GAUGE)
LAST_PUBLISHED = Metric(
    name="gfd_last_published_timestamp_seconds",
    help="When labels were last published, in seconds since 1970.",
    kind=MetricKind.GAUGE,
)
CONFIG_LOADS = Metric(
    name="gfd_config_loads_total",
    help="Times that the configuration was read again, by result: applied, refused.",
    labels=("result",),
)
