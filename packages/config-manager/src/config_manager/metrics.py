"""The numbers that config-manager keeps about itself. Pure."""

from __future__ import annotations

from gpu_core.runtime.counters import Metric, MetricKind

APPLIED = Metric(name="config_manager_configs_applied_total", help="Configs that were put in place.")
REFUSED = Metric(
    name="config_manager_configs_refused_total", help="Choices that could not be used; the last config stayed."
)
SIGNALS = Metric(name="config_manager_signals_total", help="Processes that were signalled after a change.")
GIVEN_UP = Metric(name="config_manager_signals_given_up_total", help="Changes for which no process could be signalled.")
WATCH_FAILURES = Metric(
    name="config_manager_node_watch_failures_total", help="Times that the node could not be followed for a moment."
)
AS_ASKED = Metric(
    name="config_manager_config_as_asked",
    help="1 while the config that the node's label asks for is in place, else 0.",
    kind=MetricKind.GAUGE,
)
