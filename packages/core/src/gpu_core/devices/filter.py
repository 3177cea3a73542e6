"""Leaves out the GPUs that are not to be managed: display adapters always, and what the configuration says."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from gpu_core.config.model import DeviceFilter
from gpu_core.config.names import matches
from gpu_core.devices.model import Gpu, Inventory, UnreadableGpu
from gpu_core.devices.pci import kernel_address

_DISPLAY = re.compile(r"(NVIDIA )?DGX Display")


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterReport:
    """What there is to say of a filter on a node.

    `note` is good to know, `warning` should be looked at; each may be empty. `empties` tells that it leaves
    out all of the GPUs that there are.
    """

    note: str = ""
    warning: str = ""
    empties: bool = False


def apply(inventory: Inventory, devices: DeviceFilter) -> Inventory:
    """Return the inventory without the GPUs that are left out. Indices keep their gaps; links are cut to match."""
    kept = [place for place, gpu in enumerate(inventory.gpus) if is_managed(gpu, devices)]
    links = tuple(tuple(inventory.links[a][b] for b in kept) for a in kept) if inventory.links else ()
    unreadable = tuple(gpu for gpu in inventory.unreadable if _wanted(_few_names(gpu), None, devices))
    return replace(inventory, gpus=tuple(inventory.gpus[place] for place in kept), links=links, unreadable=unreadable)


def is_managed(gpu: Gpu, devices: DeviceFilter) -> bool:
    """Whether a GPU is managed."""
    return not _is_display(gpu) and _wanted(_names(gpu), gpu.name, devices)


def report(inventory: Inventory, devices: DeviceFilter) -> FilterReport:
    """Return how many GPUs a filter leaves out, and which of its entries match none.

    Single entries are a note, since one file serves many nodes. That none at all matches is a warning, and that none
    of `include` does, as nothing is managed then. While a GPU cannot be read, nobody knows what matches it, and nothing
    is said of entries.
    """
    gpus = [gpu for gpu in inventory.gpus if not _is_display(gpu)]
    total = len(gpus) + len(inventory.unreadable)
    if not total or not (devices.include or devices.exclude):
        return FilterReport()
    managed = apply(inventory, devices)
    left = total - len(managed.gpus) - len(managed.unreadable)
    note, empties = f"The filter `devices` leaves out {left} of the {total} GPUs of this node.", left == total
    if inventory.unreadable or any(gpu.name is None for gpu in gpus):
        return FilterReport(note=note, empties=empties)
    unmatched = {
        "include": tuple(entry for entry in devices.include if not _matches_any(entry, gpus)),
        "exclude": tuple(entry for entry in devices.exclude if not _matches_any(entry, gpus)),
    }
    listed = "; ".join(f"{name}: {', '.join(map(repr, entries))}" for name, entries in unmatched.items() if entries)
    if not listed:
        return FilterReport(note=note, empties=empties)
    none_included = bool(devices.include) and unmatched["include"] == devices.include
    if none_included or (unmatched["include"] == devices.include and unmatched["exclude"] == devices.exclude):
        products = ", ".join(sorted({str(gpu.name) for gpu in gpus}))
        warning = (
            f"{note} No GPU matches what it names ({listed}); the GPUs of this node are {products}. Products are "
            "matched whole, with `*` for any text; `nvidia-smi -L` lists UUIDs and indices."
        )
        return FilterReport(warning=warning, empties=empties)
    return FilterReport(note=f"{note} No GPU of it matches {listed}.", empties=empties)


def _is_display(gpu: Gpu) -> bool:
    return gpu.name is not None and _DISPLAY.fullmatch(gpu.name) is not None


def _names(gpu: Gpu) -> frozenset[str]:
    """Return what a GPU is called besides its product, in small letters."""
    address = None if gpu.pci_bus_id is None else kernel_address(gpu.pci_bus_id)
    return frozenset({gpu.uuid.lower(), str(gpu.index)} | ({address} if address else set()))


def _few_names(gpu: UnreadableGpu) -> frozenset[str]:
    return frozenset({str(gpu.index), *filter(None, [gpu.uuid.lower()])})


def _wanted(names: frozenset[str], product: str | None, devices: DeviceFilter) -> bool:
    if devices.include and not any(_matches(entry, names, product) for entry in devices.include):
        return False
    return not any(_matches(entry, names, product) for entry in devices.exclude)


def _matches_any(entry: str, gpus: list[Gpu]) -> bool:
    return any(_matches(entry, _names(gpu), gpu.name) for gpu in gpus)


def _matches(entry: str, names: frozenset[str], product: str | None) -> bool:
    if entry.lower() in names or kernel_address(entry) in names:
        return True
    # As in the patterns of resources; those take case into account, as the original does.
    return product is not None and matches(entry.casefold(), product.casefold())
