"""The numbers that every program has under the same name. Pure."""

from __future__ import annotations

from gpu_core.runtime.metrics import Metric, MetricKind

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
