"""Leaves out the GPUs that are not to be managed: display adapters always, and what the configuration says."""

from __future__ import annotations

import re
from dataclasses import replace

from gpu_core.config.model import DeviceFilter
from gpu_core.devices.model import Gpu, Inventory
from gpu_core.devices.pci import kernel_address

_DISPLAY = re.compile(r"(NVIDIA )?DGX Display")


def apply(inventory: Inventory, devices: DeviceFilter) -> Inventory:
    """Return the inventory without the GPUs that are left out. Indices keep their gaps; links are cut to match."""
    kept = [place for place, gpu in enumerate(inventory.gpus) if is_managed(gpu, devices)]
    links = tuple(tuple(inventory.links[a][b] for b in kept) for a in kept) if inventory.links else ()
    unreadable = tuple(gpu for gpu in inventory.unreadable if _wanted(frozenset({str(gpu.index)}), None, devices))
    return replace(inventory, gpus=tuple(inventory.gpus[place] for place in kept), links=links, unreadable=unreadable)


def is_managed(gpu: Gpu, devices: DeviceFilter) -> bool:
    """Whether a GPU is managed."""
    if gpu.name is not None and _DISPLAY.fullmatch(gpu.name):
        return False
    address = None if gpu.pci_bus_id is None else kernel_address(gpu.pci_bus_id)
    names = {gpu.uuid, str(gpu.index)} | ({address} if address else set())
    return _wanted(frozenset(names), gpu.name, devices)


def _wanted(names: frozenset[str], product: str | None, devices: DeviceFilter) -> bool:
    if devices.include and not any(_matches(entry, names, product) for entry in devices.include):
        return False
    return not any(_matches(entry, names, product) for entry in devices.exclude)


def _matches(entry: str, names: frozenset[str], product: str | None) -> bool:
    if entry in names or kernel_address(entry) in names:
        return True
    # Only `*` is special, as in the patterns of resources.
    pattern = ".*".join(re.escape(part) for part in entry.split("*"))
    return product is not None and re.fullmatch(pattern, product) is not None
