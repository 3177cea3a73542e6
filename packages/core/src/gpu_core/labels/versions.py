"""The versions of the driver and of the CUDA that it supports."""

from __future__ import annotations

from gpu_core.devices.model import Inventory, Platform
from gpu_core.labels.labeler import PREFIX, Described, Labels
from gpu_core.labels.values import label_value

_DRIVER_CALL = "SystemGetDriverVersion"
_CUDA_CALLS = ("SystemGetCudaDriverVersion", "cuDriverGetVersion")

REPORTED_CALLS = frozenset({_DRIVER_CALL, *_CUDA_CALLS})
"""The system-wide calls whose failures are reported here."""


def driver(node: Described) -> Labels:
    """`cuda.driver-version.*` and its older spelling `cuda.driver.*`."""
    if not node.has_gpus:
        return Labels()
    version = _driver_version_text(node.inventory)
    if version is None:
        reason = _reason(node.inventory, (_DRIVER_CALL,))
        return Labels(failures=(f"The driver's version is not known, so its labels are left out{reason}.",))
    parts = version.split(".")
    if len(parts) not in (2, 3):
        return Labels(failures=(f'The driver calls its version "{version}", which is not of the form X.Y or X.Y.Z.',))
    major, minor, revision = (label_value(part) for part in (*parts, "")[:3])
    return Labels(
        values={
            f"{PREFIX}cuda.driver.major": major,
            f"{PREFIX}cuda.driver.minor": minor,
            f"{PREFIX}cuda.driver.rev": revision,
            f"{PREFIX}cuda.driver-version.major": major,
            f"{PREFIX}cuda.driver-version.minor": minor,
            f"{PREFIX}cuda.driver-version.revision": revision,
            f"{PREFIX}cuda.driver-version.full": label_value(version),
        }
    )


def cuda(node: Described) -> Labels:
    """`cuda.runtime-version.*` and its older spelling `cuda.runtime.*`: the newest CUDA that the driver runs."""
    if not node.has_gpus:
        return Labels()
    version = _cuda_version(node.inventory)
    if version is None:
        reason = _reason(node.inventory, _CUDA_CALLS)
        return Labels(failures=(f"The driver's CUDA version is not known, so its labels are left out{reason}.",))
    major, minor = version
    return Labels(
        values={
            f"{PREFIX}cuda.runtime.major": str(major),
            f"{PREFIX}cuda.runtime.minor": str(minor),
            f"{PREFIX}cuda.runtime-version.major": str(major),
            f"{PREFIX}cuda.runtime-version.minor": str(minor),
            f"{PREFIX}cuda.runtime-version.full": f"{major}.{minor}",
        }
    )


def _driver_version_text(inventory: Inventory) -> str | None:
    # Neither libcuda on Tegra nor the vfio-pci driver knows an NVIDIA driver version; selectors expect the word.
    if inventory.driver_version is None and inventory.platform in (Platform.TEGRA, Platform.VFIO):
        return "unknown.unknown.unknown"
    return inventory.driver_version


def _cuda_version(inventory: Inventory) -> tuple[int, int] | None:
    if inventory.cuda_version is None and inventory.platform is Platform.VFIO:
        return (0, 0)
    return inventory.cuda_version


def _reason(inventory: Inventory, calls: tuple[str, ...]) -> str:
    return "".join(f": {fault}" for fault in inventory.faults if fault.call in calls)
