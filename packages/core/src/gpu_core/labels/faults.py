"""GPUs that cannot be described: they have no labels, and each is named once."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_core.config.words import MigStrategy
from gpu_core.devices.model import NO_ANSWER, Fault
from gpu_core.labels.labeler import Described, Labels, needed_faults
from gpu_core.labels.versions import REPORTED_CALLS


def label(node: Described) -> Labels:
    """Report what could not be read; it adds no label.

    A GPU that does not answer in time is only warned of while others can be described: it may never answer, and a pass
    that fails for it would never succeed.
    """
    inventory = node.inventory
    late = [f"GPU {gpu.index} has no labels: {gpu.fault}." for gpu in inventory.unreadable if _is_late(gpu.fault)]
    lost = [f"GPU {gpu.index} has no labels: {gpu.fault}." for gpu in inventory.unreadable if not _is_late(gpu.fault)]
    unreported = [fault for fault in inventory.faults if fault.call not in REPORTED_CALLS]
    return Labels(
        warnings=tuple(late) if node.gpus else (),
        failures=(
            *(f"The driver cannot be asked: {fault}." for fault in unreported),
            *lost,
            *(late if not node.gpus else ()),
            *(
                f"GPU {gpu.index} ({gpu.uuid}) has no labels: {fault}."
                for gpu in inventory.gpus
                for fault in needed_faults(gpu)
            ),
            *_mig_failures(node),
        ),
    )


def _is_late(fault: Fault) -> bool:
    return fault.code == NO_ANSWER


def _mig_failures(node: Described) -> Iterator[str]:
    # Under the strategy none, nobody asked for MIG devices.
    if node.config.flags.mig_strategy is MigStrategy.NONE:
        return
    for gpu in node.gpus:
        own = (gone.fault for gone in gpu.unreadable_mig)
        for fault in (*own, *(fault for mig in gpu.mig_devices for fault in mig.faults)):
            yield f"A MIG device of GPU {gpu.index} has no labels: {fault}."
