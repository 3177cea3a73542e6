"""The model of the machine that holds the GPUs."""

from __future__ import annotations

from gpu_core.labels.model import PREFIX, Labels, Node
from gpu_core.labels.values import label_value


def label(node: Node) -> Labels:
    """`gpu.machine`: the machine's model, `unknown` where its firmware does not say."""
    if not node.has_gpus:
        return Labels()
    return Labels(values={f"{PREFIX}gpu.machine": label_value(node.facts.machine_type)})
