"""The numbers that the MPS control daemon keeps about itself."""

from __future__ import annotations

from gpu_core.runtime.counters import Metric, MetricKind

UP = Metric(
    name="mps_control_daemon_up",
    help="1 while the control daemon of a resource runs and answers, else 0.",
    kind=MetricKind.GAUGE,
    labels=("resource",),
)
DEATHS = Metric(
    name="mps_control_daemon_deaths_total",
    help="Control daemons that ended by themselves or had to be given up.",
    labels=("resource",),
)
START_FAILURES = Metric(
    name="mps_control_daemon_start_failures_total",
    help="Control daemons that could not be started.",
    labels=("resource",),
)
READ_FAILURES = Metric(name="mps_control_daemon_read_failures_total", help="Times that the GPUs could not be read.")
CONFIG_LOADS = Metric(
    name="mps_control_daemon_config_loads_total",
    help="Times that the configuration was read again, by result: applied, refused.",
    labels=("result",),
)
