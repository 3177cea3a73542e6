"""What is wrong with which GPUs and MIG devices, as the numbers, Events and pages tell it. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gpu_core.resources.ailments import Ailment
from gpu_core.resources.health import HealthBook


@dataclass(frozen=True, slots=True, kw_only=True)
class Sick:
    """One thing that is wrong with a GPU or MIG device, told from others by UUID, and by index for people."""

    uuid: str
    index: str
    ailment: Ailment


def sick_units(book: HealthBook) -> Iterator[Sick]:
    """Give everything that is wrong, GPU by GPU."""
    for gpu in book.gpus:
        units = [(gpu.uuid, str(gpu.index)), *((mig.uuid, mig.full_index) for mig in gpu.mig_devices)]
        for uuid, index in units:
            for ailment in book.ledger.ailments.get(uuid, ()):
                yield Sick(uuid=uuid, index=index, ailment=ailment)


def unit_name(book: HealthBook, uuid: str) -> str:
    """Return what a person calls a GPU or MIG device: its kind, its index, its product or profile, its UUID."""
    for gpu in book.gpus:
        if gpu.uuid == uuid:
            return f"GPU {gpu.index} ({gpu.name or 'unknown product'}, {uuid})"
        for mig in gpu.mig_devices:
            if mig.uuid == uuid:
                return f"MIG device {mig.full_index} ({mig.profile}, {uuid})"
    return f"Device {uuid}"
