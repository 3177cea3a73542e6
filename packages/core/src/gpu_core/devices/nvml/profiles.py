"""The names of MIG profiles, as NVIDIA writes them.

`1g.5gb` is one slice with 5 GB; `+me` has the media engines, `+me.all` all of them, `-me` none, `+gfx` graphics;
`1c.3g.20gb` is a compute instance that has one of its GPU instance's three slices.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

_MIB = 1 << 20
_GIB = 1 << 30
_MEMORY_PARTS = 8

_SUFFIXES = {
    0x0: "",  # 1 slice
    0x1: "",  # 2 slices
    0x2: "",  # 3 slices
    0x3: "",  # 4 slices
    0x4: "",  # 7 slices
    0x5: "",  # 8 slices
    0x6: "",  # 6 slices
    0x7: "+me",  # 1 slice, revision 1
    0x8: "+me",  # 2 slices, revision 1
    0x9: "",  # 1 slice, revision 2
    0xA: "+gfx",  # 1 slice
    0xB: "+gfx",  # 2 slices
    0xC: "+gfx",  # 4 slices
    0xD: "-me",  # 1 slice
    0xE: "-me",  # 2 slices
    0xF: "+me.all",  # 1 slice
    0x10: "+me.all",  # 2 slices
    0x11: "+gfx",  # 3 slices
}
"""What NVML's numbers of GPU instance profiles (NVML_GPU_INSTANCE_PROFILE_*) add to a name."""

PROFILE_COUNT = len(_SUFFIXES)
"""How many profiles this table knows; a newer driver may have more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileName:
    """The name of a MIG device's profile, and that of the GPU instance around it."""

    device: str
    instance: str


def profile_name(
    *,
    slot: int | None,
    driver_name: str,
    compute_slices: int,
    gpu_slices: int,
    memory_mib: int,
    total_memory: int | None,
) -> ProfileName:
    """Return the names of a MIG device.

    `slot` is NVML's number of the GPU instance's profile, None when it has none that is known. `driver_name` is
    the driver's own name for it, such as `MIG 3g.72gb+gfx`, or empty; it decides what the table does not know.
    `memory_mib` is the MIG device's, `total_memory` the whole GPU's in bytes.
    """
    suffix = _SUFFIXES.get(slot) if slot is not None else None
    if suffix is None:
        suffix = _suffix_of(driver_name)
    size = memory_gb(memory_mib, total_memory) if total_memory else _size_of(driver_name, memory_mib)
    instance = f"{gpu_slices}g.{size}gb{suffix}"
    device = instance if compute_slices == gpu_slices else f"{compute_slices}c.{instance}"
    return ProfileName(device=device, instance=instance)


def memory_gb(memory_mib: int, total_memory: int) -> int:
    """Return the size in a profile's name: the memory in eighths of the GPU's, rounded up, in whole GB of it."""
    share = math.ceil(memory_mib * _MIB / total_memory * _MEMORY_PARTS) / _MEMORY_PARTS
    # Halves are rounded up: a profile of 4.5 GB is called 5gb.
    return math.floor(share * math.ceil(total_memory / _GIB) + 0.5)


def _suffix_of(driver_name: str) -> str:
    behind = driver_name.partition("gb")[2]
    return behind if behind[:1] in ("+", "-") else ""


def _size_of(driver_name: str, memory_mib: int) -> int:
    number = driver_name.partition("g.")[2].partition("gb")[0]
    return int(number) if number.isdigit() else math.ceil(memory_mib * _MIB / _GIB)
