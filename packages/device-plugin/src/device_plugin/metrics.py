"""The numbers that the device plugin keeps about itself."""

from __future__ import annotations

from gpu_core.hardware.node_health import HealthMetrics
from gpu_core.runtime.counters import Metric, MetricKind

ALLOCATIONS = Metric(
    name="nvidia_device_plugin_allocations_total",
    help="Containers that were told what they need to use their devices.",
    labels=("resource",),
)
REFUSALS = Metric(
    name="nvidia_device_plugin_refused_requests_total",
    help="Allocation requests of the kubelet that named devices which cannot be granted.",
    labels=("resource",),
)
LATENCY = Metric(
    name="nvidia_device_plugin_request_duration_seconds",
    help="How long the answers to the kubelet took, by call: Allocate, GetPreferredAllocation.",
    kind=MetricKind.HISTOGRAM,
    labels=("resource", "call"),
    bounds=(0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0),
)
REGISTRATIONS = Metric(
    name="nvidia_device_plugin_registrations_total",
    help="Registrations that the kubelet accepted.",
    labels=("resource",),
)
REGISTRATION_FAILURES = Metric(
    name="nvidia_device_plugin_registration_failures_total",
    help="Registrations that the kubelet refused or did not answer.",
    labels=("resource",),
)
REGISTERED_AT = Metric(
    name="nvidia_device_plugin_registration_timestamp_seconds",
    help="When the kubelet last accepted a resource's registration, in seconds since 1970.",
    kind=MetricKind.GAUGE,
    labels=("resource",),
)
REGISTERED = Metric(
    name="nvidia_device_plugin_registered",
    help="1 while the kubelet follows a resource's list of devices, and our socket is the one it knows, else 0.",
    kind=MetricKind.GAUGE,
    labels=("resource",),
)
DEVICES = Metric(
    name="nvidia_device_plugin_devices",
    help="Devices, or shares of devices, that are listed, by health, and of unhealthy ones by what made them so.",
    kind=MetricKind.GAUGE,
    labels=("resource", "health", "reason"),
)
UNHEALTHY_SINCE = Metric(
    name="nvidia_device_plugin_unhealthy_since_timestamp_seconds",
    help="What is wrong with which GPU or MIG device, and since when, in seconds since 1970.",
    kind=MetricKind.GAUGE,
    labels=("uuid", "index", "cause", "reason"),
)
UNREAD_GPUS = Metric(
    name="nvidia_device_plugin_unread_gpus",
    help="GPUs that never answered in full and so belong to no resource yet, by index, with what failed.",
    kind=MetricKind.GAUGE,
    labels=("index", "reason"),
)
EVENTS = Metric(
    name="nvidia_device_plugin_health_events_total",
    help="XIDs that the driver reported, by number.",
    labels=("xid",),
)
TRANSITIONS = Metric(
    name="nvidia_device_plugin_health_transitions_total",
    help="GPUs and MIG devices that became healthy or unhealthy, by what made them unhealthy.",
    labels=("health", "cause"),
)
MONITORED = Metric(
    name="nvidia_device_plugin_health_monitored",
    help="1 while the driver's events are received, else 0.",
    kind=MetricKind.GAUGE,
)
HEALTH = HealthMetrics(events=EVENTS, monitored=MONITORED, transitions=TRANSITIONS)
SCANS = Metric(name="nvidia_device_plugin_scans_total", help="Times that the node's GPUs were read.")
SCAN_FAILURES = Metric(
    name="nvidia_device_plugin_scan_failures_total", help="Times that the node's GPUs could not be read or served."
)
CONFIG_LOADS = Metric(
    name="nvidia_device_plugin_config_loads_total",
    help="Times that the configuration was read again, by result: applied, unchanged, refused.",
    labels=("result",),
)
CONFIG_REFUSED = Metric(
    name="nvidia_device_plugin_config_refused",
    help="1 while an older configuration is used because the present one cannot be, else 0.",
    kind=MetricKind.GAUGE,
)
