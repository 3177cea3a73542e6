"""The node labels that describe its GPUs.

`LABELERS` names every labeler in order; where two set the same key, the later one wins.
"""

from __future__ import annotations

from gpu_core.config.model import Config
from gpu_core.devices.model import Inventory
from gpu_core.labels import (
    capabilities,
    fabric,
    faults,
    gpus,
    machine,
    mig,
    mode,
    presence,
    timestamp,
    versions,
    vgpu,
)
from gpu_core.labels.labeler import PREFIX, Described, Labeler, Labels, NodeFacts

__all__ = ["LABELERS", "PREFIX", "Described", "Labels", "NodeFacts", "all_labels", "describe"]

LABELERS: tuple[Labeler, ...] = (
    timestamp.label,
    presence.label,
    machine.label,
    versions.driver,
    versions.cuda,
    capabilities.mig,
    capabilities.mps,
    gpus.node_set,
    gpus.model_sets,
    gpus.whole_count,
    mig.strategy,
    mig.devices,
    mode.label,
    fabric.label,
    vgpu.label,
    faults.label,
)


def describe(inventory: Inventory, facts: NodeFacts, config: Config) -> Labels:
    """Return all labels of a node sorted by key, and what is to be said about those that are missing."""
    node = Described(inventory=inventory, facts=facts, config=config)
    parts = [labeler(node) for labeler in LABELERS]
    merged: dict[str, str] = {}
    for part in parts:
        merged.update(part.values)
    return Labels(
        values=dict(sorted(merged.items())),
        notes=tuple(dict.fromkeys(note for part in parts for note in part.notes)),
        warnings=tuple(warning for part in parts for warning in part.warnings),
        failures=tuple(failure for part in parts for failure in part.failures),
    )


def all_labels(inventory: Inventory, facts: NodeFacts, config: Config) -> dict[str, str]:
    """Return all labels of a node, sorted by key."""
    return dict(describe(inventory, facts, config).values)
