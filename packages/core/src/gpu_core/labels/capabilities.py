"""How the node's GPUs could be shared: MIG partitions, MPS."""

from __future__ import annotations

from gpu_core.config.words import SharingStrategy
from gpu_core.labels.labeler import PREFIX, Described, Labels

_MIG_WITH_MPS = (
    "The configuration shares GPUs through MPS, which GPUs in MIG mode cannot do. Turn MIG off on this node, or "
    "give it a configuration without sharing.mps."
)


def mig(node: Described) -> Labels:
    """`mig.capable`: whether any GPU could be partitioned."""
    if not node.gpus:
        return Labels()
    return Labels(values={f"{PREFIX}mig.capable": _word(any(gpu.mig_capable for gpu in node.gpus))})


def mps(node: Described) -> Labels:
    """`mps.capable`: whether the MPS daemon should run here, which needs MPS sharing and no GPU in MIG mode."""
    if not node.gpus:
        return Labels()
    asked = node.config.sharing.strategy is SharingStrategy.MPS
    if asked and any(gpu.mig_enabled for gpu in node.gpus):
        return Labels(failures=(_MIG_WITH_MPS,))
    return Labels(values={f"{PREFIX}mps.capable": _word(asked)})


def _word(fact: bool) -> str:
    return "true" if fact else "false"
