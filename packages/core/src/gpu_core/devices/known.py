"""What a node is known to have: it changes on a full and consistent answer only.

A GPU that falls off the bus loses its UUID with all else, and one whose driver is in trouble may say that it has no
MIG, or no MIG devices. Their devices have to be reported as unhealthy, not as gone or as others, so that their
containers are not mixed up with others and their neighbours stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from gpu_core.devices.model import Fault, Gpu, Inventory, MigDevice, PairLink, UnreadableGpu


def keep_known(before: Inventory | None, now: Inventory, *, renumbered: bool = False) -> Inventory:
    """Return the present inventory with what did not answer in full as it was known, with its faults.

    A GPU that never did is among the unreadable ones: nobody can say yet as what it is to be served. `renumbered` tells
    that indices mean other GPUs than before, so that nothing is known of one that does not tell its UUID.
    """
    known = {gpu.uuid: gpu for gpu in before.gpus} if before is not None else {}
    gpus: list[Gpu] = []
    unreadable = [*now.unreadable]
    for gpu in now.gpus:
        kept = _kept(known.get(gpu.uuid), gpu)
        if isinstance(kept, Gpu):
            gpus.append(kept)
        else:
            unreadable.append(kept)
    present = {gpu.uuid for gpu in now.gpus}
    places = {} if renumbered else {gpu.index: gpu for gpu in known.values() if gpu.uuid not in present}
    gpus += [_with_faults(places[gone.index], [gone.fault]) for gone in unreadable if gone.index in places]
    gpus.sort(key=lambda gpu: gpu.index)
    return replace(
        now,
        gpus=tuple(gpus),
        unreadable=tuple(
            sorted((gone for gone in unreadable if gone.index not in places), key=lambda gone: gone.index)
        ),
        links=_links(now, gpus),
    )


def _kept(before: Gpu | None, now: Gpu) -> Gpu | UnreadableGpu:
    """Return what is known of a GPU after an answer."""
    if before is None:
        if now.faults:
            return UnreadableGpu(index=now.index, uuid=now.uuid, fault=now.faults[0])
        return now
    faults = (*now.faults, *_contradictions(before, now))
    if faults:
        return replace(before, index=now.index, faults=tuple(dict.fromkeys(faults)))
    # What a GPU has by its make is not lost with an answer that only labels and limits are made from.
    return replace(
        now,
        memory=before.memory if now.memory is None else now.memory,
        brand=before.brand if now.brand is None else now.brand,
        pci=before.pci if now.pci is None else now.pci,
        numa_node=before.numa_node if now.pci is None else now.numa_node,
        coherent_memory=before.coherent_memory or now.coherent_memory,
        mig_devices=_kept_parts(before, now),
    )


def _contradictions(before: Gpu, now: Gpu) -> Iterable[Fault]:
    """Give what a GPU denies to have, without an error, though it has shown it before."""
    if now.faults:
        return
    if before.mig_capable and not now.mig_capable:
        yield Fault(call="DeviceGetMigMode", code="NOT_SUPPORTED")
    if before.pci_bus_id is not None and now.pci_bus_id is None:
        yield Fault(call="DeviceGetPciInfo", code="NOT_SUPPORTED")


def _kept_parts(before: Gpu, now: Gpu) -> tuple[MigDevice, ...]:
    """Return the MIG devices of a GPU: those that can be read, and those known in a place that cannot."""
    present = {mig.uuid for mig in now.mig_devices}
    known = {mig.index: mig for mig in before.mig_devices if mig.uuid not in present}
    whole = {mig.uuid: mig for mig in before.mig_devices}
    parts = [
        replace(whole[mig.uuid], index=mig.index, faults=mig.faults) if mig.faults and mig.uuid in whole else mig
        for mig in now.mig_devices
    ]
    parts += [replace(known[gone.index], faults=(gone.fault,)) for gone in now.unreadable_mig if gone.index in known]
    return tuple(sorted(parts, key=lambda mig: mig.index))


def _with_faults(gpu: Gpu, faults: Iterable[Fault]) -> Gpu:
    return replace(gpu, faults=tuple(dict.fromkeys((*gpu.faults, *faults))))


def _links(now: Inventory, gpus: Sequence[Gpu]) -> tuple[tuple[PairLink, ...], ...]:
    """Return the links between all GPUs; those of a GPU that is not in the present inventory are unknown."""
    if not now.links:
        return ()
    known = {
        (one.uuid, other.uuid): link
        for one, row in zip(now.gpus, now.links, strict=True)
        for other, link in zip(now.gpus, row, strict=True)
    }
    return tuple(tuple(known.get((one.uuid, other.uuid), PairLink()) for other in gpus) for one in gpus)
