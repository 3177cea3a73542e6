"""A GPU and its MIG devices: what each of them depends on. Pure."""

from __future__ import annotations

from collections.abc import Collection

from gpu_core.devices.model import Gpu
from gpu_core.resources.model import Device


def units_of(gpu: Gpu) -> tuple[str, ...]:
    """Return the UUIDs of a GPU and its MIG devices."""
    return (gpu.uuid, *(mig.uuid for mig in gpu.mig_devices))


def dependence(device: Device, gpu: Gpu) -> tuple[Collection[str], Collection[str]]:
    """Return the UUIDs on whose health that of a device depends: on all of it, and on what harms a whole as well.

    A MIG device is as sick as its GPU. A GPU that is given whole has no more to fear from a MIG device of it than the
    harm that comes to it.
    """
    if device.mig is not None:
        return (gpu.uuid, device.uuid), ()
    return (gpu.uuid,), [mig.uuid for mig in gpu.mig_devices]
