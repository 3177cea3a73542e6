"""What the MIG strategies demand of a node's MIG devices."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import assert_never

from gpu_core.config.model import DEFAULT_RESOURCE, Config
from gpu_core.config.words import MigStrategy
from gpu_core.devices.model import Gpu, Inventory, MigAttributes
from gpu_core.errors import ResourceError
from gpu_core.resources.names import mig_resource_name


def check_mig_layout(gpus: Sequence[Gpu], strategy: MigStrategy) -> tuple[str, ...]:
    """Return the warnings that a node's MIG devices deserve under a strategy.

    Only GPUs that could be read are judged: one that fell off the bus says nothing about the layout of the others.
    Raises ResourceError when the strategy cannot be honoured.
    """
    readable = [gpu for gpu in gpus if gpu.usable]
    empty = [gpu for gpu in readable if gpu.mig_enabled and not gpu.mig_devices]
    if strategy is MigStrategy.SINGLE:
        _check_uniform(readable, empty)
    if strategy is MigStrategy.NONE:
        return tuple(_served_whole([gpu for gpu in readable if gpu.mig_enabled]))
    if strategy is not MigStrategy.MIXED:
        return ()
    return tuple(
        f"{_gpu(gpu)} has MIG enabled but no MIG devices, so it offers nothing. Create some, or disable MIG."
        for gpu in empty
    )


def _served_whole(partitioned: Sequence[Gpu]) -> Iterator[str]:
    """Say what becomes of MIG devices that nobody asked for: as in the original, their GPUs are served whole."""
    if partitioned:
        one = len(partitioned) == 1
        yield (
            f"{_list(map(_gpu, partitioned))} {'is' if one else 'are'} in MIG mode, and the MIG strategy is none: "
            f"{'it is' if one else 'they are'} served whole, though CUDA uses one MIG device at most. To serve MIG "
            "devices, set --mig-strategy to single or mixed."
        )


def _check_uniform(gpus: Sequence[Gpu], empty: Sequence[Gpu]) -> None:
    partitioned = [gpu for gpu in gpus if gpu.mig_enabled]
    if not partitioned:
        return
    if empty:
        raise ResourceError(
            f"The MIG strategy single needs MIG devices on every GPU, but {_list(map(_gpu, empty))} has none. Create "
            "MIG devices on it, or disable MIG on all GPUs."
        )
    whole = [gpu for gpu in gpus if not gpu.mig_enabled]
    if whole:
        raise ResourceError(
            "The MIG strategy single needs the same MIG mode on every GPU, but MIG is off on "
            f"{_list(map(_gpu, whole))} and on on {_list(map(_gpu, partitioned))}. Change the mode of one side, or use "
            "the strategy mixed."
        )
    kinds = _kinds(partitioned)
    if len(kinds) > 1:
        raise ResourceError(
            f"The MIG strategy single needs MIG devices of one kind, but this node has {_list(kinds.values())}. "
            "Partition every GPU alike, or use the strategy mixed."
        )


def _kinds(gpus: Iterable[Gpu]) -> dict[MigAttributes, str]:
    """Return one example of each kind of MIG device; equal profiles with unlike engines are unlike kinds."""
    kinds: dict[MigAttributes, str] = {}
    for gpu in gpus:
        for mig in gpu.mig_devices:
            if not mig.faults:
                kinds.setdefault(mig.attributes, f"{mig.profile} (device {mig.parent_index}:{mig.index})")
    return kinds


def _gpu(gpu: Gpu) -> str:
    return f"GPU {gpu.index} ({gpu.uuid})"


def _list(texts: Iterable[str]) -> str:
    *before, last = texts
    return f"{', '.join(before)} and {last}" if before else last


def mig_patterns(inventory: Inventory | None, config: Config) -> tuple[tuple[str, str], ...]:
    """Return pairs of a pattern and the name of its resource; `inventory` None is a node that cannot be read."""
    match config.flags.mig_strategy:
        case MigStrategy.NONE:
            return ()
        case MigStrategy.SINGLE:
            return (("*", DEFAULT_RESOURCE),)
        case MigStrategy.MIXED:
            gpus = () if inventory is None else inventory.gpus
            profiles = sorted({mig.instance_profile for gpu in gpus for mig in gpu.mig_devices})
            return tuple((profile, mig_resource_name(profile)) for profile in profiles)
    assert_never(config.flags.mig_strategy)
