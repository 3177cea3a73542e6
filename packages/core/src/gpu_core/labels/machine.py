"""The model of the machine that holds the GPUs."""

from __future__ import annotations

from gpu_core.labels.labeler import PREFIX, Described, Labels
from gpu_core.labels.values import label_value
from gpu_core.labels.written import written


def label(node: Described) -> Labels:
    """`gpu.machine`: the machine's model, `unknown` where its firmware does not say."""
    if not node.has_gpus:
        return Labels()
    name = node.facts.machine_type
    # A file that is empty is no name that could be lost.
    machine = written("machine type", name, marked=bool(name) and not label_value(name))
    return Labels(values={f"{PREFIX}gpu.machine": machine.value}, notes=machine.notes)
