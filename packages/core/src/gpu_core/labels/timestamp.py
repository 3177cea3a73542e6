"""When the labels' configuration was loaded."""

from __future__ import annotations

from gpu_core.labels.labeler import PREFIX, Described, Labels


def label(node: Described) -> Labels:
    """`gfd.timestamp`: seconds since 1970, the same in every pass of one configuration."""
    if node.config.flags.gfd.no_timestamp:
        return Labels()
    return Labels(values={f"{PREFIX}gfd.timestamp": str(node.facts.timestamp)})
