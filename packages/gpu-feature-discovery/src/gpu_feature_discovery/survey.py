"""One look at the node: read everything through an open driver, let go of it, and describe what was found."""

from __future__ import annotations

from dataclasses import replace

from gpu_core.config.model import Config
from gpu_core.devices.backend import Backend
from gpu_core.devices.filter import apply, report
from gpu_core.devices.model import Inventory, Platform
from gpu_core.errors import HardwareError
from gpu_core.labels import PREFIX, Labels, NodeFacts, describe


def survey(backend: Backend, facts: NodeFacts, config: Config) -> Labels:
    """Return the node's labels now, and close the backend. Raises HardwareError where the GPUs cannot be counted.

    The driver is let go each time, so that it can be replaced while we run; the next look loads it afresh.
    """
    try:
        inventory = backend.read()
    finally:
        backend.close()
    labels, filtered = describe(apply(inventory, config.devices), facts, config), report(inventory, config.devices)
    return replace(
        labels,
        notes=(*labels.notes, *filter(None, [filtered.note])),
        warnings=(*labels.warnings, *filter(None, [filtered.warning])),
    )


def survey_without_driver(reason: HardwareError, facts: NodeFacts, config: Config) -> Labels:
    """Return the labels that need no driver, with the reason why there are no others, unless the node shows no GPU."""
    labels = describe(Inventory(platform=Platform.NVML), facts, config)
    if facts.shows_gpu is False:
        return labels
    failure = f"The GPUs cannot be read, so their labels are left out. {reason}"
    return replace(labels, failures=(*labels.failures, failure))


def describes_gpus(labels: Labels) -> bool:
    """Whether the labels are those of a node with GPUs, even of lost ones."""
    return f"{PREFIX}gpu.machine" in labels.values
