"""GPUs that cannot be described: they have no labels, and each is named once."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_core.config.words import MigStrategy
from gpu_core.labels.model import Labels, Node, needed_faults
from gpu_core.labels.versions import REPORTED_CALLS

# The part of a GPU's faults that concerns its MIG devices only.
_MIG_CALLS = frozenset({"DeviceGetMigDeviceHandleByIndex", "DeviceGetUUID"})


def label(node: Node) -> Labels:
    """Report what could not be read; it adds no label."""
    inventory = node.inventory
    unreported = [fault for fault in inventory.faults if fault.call not in REPORTED_CALLS]
    return Labels(
        failures=(
            *(f"The driver cannot be asked: {fault}." for fault in unreported),
            *(f"GPU {gpu.index} has no labels: {gpu.fault}." for gpu in inventory.unreadable),
            *(
                f"GPU {gpu.index} ({gpu.uuid}) has no labels: {fault}."
                for gpu in inventory.gpus
                for fault in needed_faults(gpu)
            ),
            *_mig_failures(node),
        )
    )


def _mig_failures(node: Node) -> Iterator[str]:
    # Under the strategy none, nobody asked for MIG devices.
    if node.config.flags.mig_strategy is MigStrategy.NONE:
        return
    for gpu in node.gpus:
        own = (fault for fault in gpu.faults if fault.call in _MIG_CALLS)
        for fault in (*own, *(fault for mig in gpu.mig_devices for fault in mig.faults)):
            yield f"A MIG device of GPU {gpu.index} has no labels: {fault}."
