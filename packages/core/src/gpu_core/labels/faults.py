"""GPUs that cannot be described: they have no labels, and each is named once."""

from __future__ import annotations

from gpu_core.devices.model import Gpu, UnreadableGpu
from gpu_core.labels.model import Labels, Node, needed_faults


def label(node: Node) -> Labels:
    """Report what could not be read; it adds no label."""
    inventory = node.inventory
    return Labels(
        failures=(
            *(f"The driver cannot be asked: {fault}." for fault in inventory.faults),
            *(_unreadable(gpu) for gpu in inventory.unreadable),
            *(
                f"GPU {gpu.index} ({gpu.uuid}) has no labels: {fault}."
                for gpu in inventory.gpus
                for fault in needed_faults(gpu)
            ),
            *(
                f"A MIG device of GPU {gpu.index} has no labels: {fault}."
                for gpu in node.gpus
                for fault in _mig_faults(gpu)
            ),
        )
    )


def _unreadable(gpu: UnreadableGpu) -> str:
    return f"GPU {gpu.index} has no labels: {gpu.fault}."


def _mig_faults(gpu: Gpu) -> tuple[object, ...]:
    return tuple(fault for mig in gpu.mig_devices for fault in mig.faults)
