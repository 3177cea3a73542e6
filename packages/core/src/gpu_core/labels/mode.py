"""Whether the GPUs are there to compute or to draw."""

from __future__ import annotations

from gpu_core.devices.model import Gpu
from gpu_core.labels.labeler import PREFIX, Described, Labels

_MODES = {0x030000: "graphics", 0x030200: "compute"}


def label(node: Described) -> Labels:
    """`gpu.mode`: compute or graphics, from the PCI class that all GPUs share; else `unknown`."""
    if not node.gpus:
        return Labels()
    classes = {_pci_class(gpu) for gpu in node.gpus}
    shared = classes.pop() if len(classes) == 1 else None
    return Labels(values={f"{PREFIX}gpu.mode": _MODES.get(shared or 0, "unknown")})


def _pci_class(gpu: Gpu) -> int | None:
    return gpu.pci.class_code if gpu.pci is not None else None
