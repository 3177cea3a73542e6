"""What is wrong with which GPUs and MIG devices, as the numbers, Events and pages tell it. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gpu_core.devices.model import Gpu, MigDevice
from gpu_core.resources.ailments import Ailment
from gpu_core.resources.health import HealthBook
from gpu_core.resources.model import Device


@dataclass(frozen=True, slots=True, kw_only=True)
class Sick:
    """One thing that is wrong with a GPU or MIG device, told from others by UUID, and by index for people."""

    uuid: str
    index: str
    ailment: Ailment


def sick_units(book: HealthBook) -> Iterator[Sick]:
    """Give everything that is wrong, GPU by GPU."""
    for gpu in book.gpus:
        units = [(gpu.uuid, str(gpu.index)), *((mig.uuid, mig_index(mig)) for mig in gpu.mig_devices)]
        for uuid, index in units:
            for ailment in book.ledger.ailments.get(uuid, ()):
                yield Sick(uuid=uuid, index=index, ailment=ailment)


def cause_of(book: HealthBook, device: Device) -> str:
    """Return what made a device sick first, in one word; empty while it is healthy."""
    if device.gpu is None or book.state(device).healthy:
        return ""
    ailments = book.ailments(device)
    return min(ailments, key=lambda ailment: ailment.since).cause.value if ailments else "unchecked"


def gpu_device(gpu: Gpu, mig: MigDevice | None = None) -> Device:
    """Return a GPU, or a MIG device of it, as the whole device whose health a book can be asked for."""
    if mig is None:
        return Device(id=gpu.uuid, uuid=gpu.uuid, index=str(gpu.index), gpu=gpu)
    return Device(id=mig.uuid, uuid=mig.uuid, index=mig_index(mig), gpu=gpu, mig=mig)


def mig_index(mig: MigDevice) -> str:
    """Return a MIG device's index as nvidia-smi and containers know it."""
    return f"{mig.parent_index}:{mig.index}"


def unit_name(book: HealthBook, uuid: str) -> str:
    """Return what a person calls a GPU or MIG device: its kind, its index, its product or profile, its UUID."""
    for gpu in book.gpus:
        if gpu.uuid == uuid:
            return f"GPU {gpu.index} ({gpu.name or 'unknown product'}, {uuid})"
        for mig in gpu.mig_devices:
            if mig.uuid == uuid:
                return f"MIG device {mig_index(mig)} ({mig.profile}, {uuid})"
    return f"Device {uuid}"
