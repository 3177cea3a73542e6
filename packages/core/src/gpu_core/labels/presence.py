"""Whether the node has a GPU, for those who place pods by it where no node-feature-discovery finds it."""

from __future__ import annotations

from gpu_core.labels.labeler import PREFIX, Described, Labels


def label(node: Described) -> Labels:
    """`gpu.present`, where somebody asked for it and the machine shows a GPU, with or without a driver."""
    shown = node.facts.shows_gpu
    if shown is None or not (shown or node.has_gpus):
        return Labels()
    return Labels(values={f"{PREFIX}gpu.present": "true"})
