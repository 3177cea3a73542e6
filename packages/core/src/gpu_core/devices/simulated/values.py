"""Single values of a node file, checked, with messages that name the key and what may stand there."""

from __future__ import annotations

import uuid as uuids
from collections.abc import Mapping
from typing import Any

from gpu_core.devices.model import Fabric
from gpu_core.devices.pci import kernel_address
from gpu_core.devices.simulated.commands import RECOVERY_NUMBERS
from gpu_core.devices.simulated.node import CudaDevice
from gpu_core.errors import ConfigError

NAMESPACE = uuids.UUID("5b1e7f0a-62f4-4f0e-8a55-9d2c3a7e41c6")
"""From which the UUIDs of devices follow that a node file gives none."""

_MIB = 1 << 20
_EVENT_BITS = {"xid": 0x8, "double-bit-ecc": 0x2, "single-bit-ecc": 0x1}


def each(facts: Mapping[str, Any], key: str, number: int, default: object) -> Any:
    """Return a fact of the n-th GPU of an entry: a list has one for each."""
    value = facts.get(key, default)
    if not isinstance(value, list):
        return value
    return value[number] if number < len(value) else default


def short_text(value: object, where: str, most: int) -> str:
    """Return a text that fits into NVML's buffer, which holds `most` bytes and the zero at their end."""
    text = str(value)
    if len(text.encode()) > most:
        raise ConfigError(f"{where}: {text[:20]!r}… is longer than the {most} bytes that NVML has room for.")
    return text


def memory(value: object, where: str) -> int | None:
    """Return bytes: a number of MiB, or a text with `B` behind the exact number of bytes."""
    if value is None:
        return None
    if isinstance(value, str) and value.endswith("B") and value[:-1].isdecimal():
        return int(value[:-1])
    return integer(value, where) * _MIB


def numa(value: object, where: str) -> int | None:
    """Return a NUMA node; None for none, as for a negative number."""
    return None if value is None or integer(value, where) < 0 else integer(value, where)


def capability(value: object, where: str) -> tuple[int, int]:
    """Return a version of two numbers."""
    major, _, minor = str(value).partition(".")
    if not major.isdecimal() or not minor.isdecimal():
        raise ConfigError(f'{where}: {value!r} is no compute capability. Write it as "9.0", in quotes.')
    return int(major), int(minor)


def cuda(value: object, where: str) -> int:
    """Return NVML's form of a CUDA version, 12040 for 12.4."""
    major, minor = capability(value, where)
    return major * 1000 + minor * 10


def cuda_device(value: object, where: str) -> CudaDevice | None:
    """Return what libcuda says of a Tegra chip."""
    if value is None:
        return None
    facts = mapping(value, where, frozenset({"name", "memory", "compute_capability"}))
    return CudaDevice(
        name=str(facts.get("name", "Orin")),
        memory=memory(facts.get("memory", 0), where) or 0,
        compute_capability=capability(facts.get("compute_capability", "8.7"), f"{where}.compute_capability"),
    )


def fabric(value: object, where: str) -> Fabric | None:
    """Return the NVLink fabric membership of a GPU."""
    if value is None:
        return None
    facts = mapping(value, where, frozenset({"state", "status", "clique", "cluster"}))
    return Fabric(
        state=integer(facts.get("state", 3), where),
        status=integer(facts.get("status", 0), where),
        clique=integer(facts.get("clique", 0), where),
        cluster_uuid=_uuid(facts.get("cluster", str(uuids.UUID(int=0))), f"{where}.cluster"),
    )


def bus_id(value: object, where: str) -> str:
    """Return a PCI address as NVML writes it."""
    if not isinstance(value, str) or kernel_address(value) is None:
        raise ConfigError(f"{where}: {value!r} is no PCI address. Write it as 00000000:07:00.0.")
    return value


def _uuid(value: object, where: str) -> str:
    try:
        return str(uuids.UUID(str(value)))
    except ValueError as error:
        raise ConfigError(f"{where}: {value!r} is no UUID.") from error


def vgpu(value: object, where: str) -> tuple[str, str] | None:
    """Return a vGPU host's driver version and branch."""
    if value is None:
        return None
    facts = mapping(value, where, frozenset({"version", "branch"}))
    return str(facts.get("version", "")), str(facts.get("branch", ""))


def events(value: object, where: str) -> int:
    """Return the mask of NVML event types."""
    return sum({int(word(kind, _EVENT_BITS, where)) for kind in sequence(value, where)})


def mapping(value: object, where: str, keys: frozenset[str]) -> Mapping[str, Any]:
    """Return a mapping that has none but these keys."""
    if not isinstance(value, Mapping):
        raise ConfigError(f"{where}: a mapping is needed, not {value!r}.")
    # What a model brings along (`mig_profiles`) is no key of node files.
    unknown = sorted(str(key) for key in value if key not in keys)
    if unknown:
        raise ConfigError(f"{where}: unknown key {unknown[0]!r}. Known keys: {', '.join(sorted(keys))}.")
    return value


def sequence(value: object, where: str) -> list[Any]:
    """Return a list."""
    if not isinstance(value, list):
        raise ConfigError(f"{where}: a list is needed, not {value!r}.")
    return value


def integer(value: object, where: str) -> int:
    """Return a whole number."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise ConfigError(f"{where}: a whole number is needed, not {value!r}.")
    return value


def natural(value: object, where: str, *, most: int = 0xFFFFFFFF) -> int:
    """Return a whole number from 0 to `most`, which is what C's unsigned numbers hold."""
    number = integer(value, where)
    if not 0 <= number <= most:
        raise ConfigError(f"{where}: a number from 0 to {most} is needed, not {number}.")
    return number


def word(value: object, words: Mapping[str, Any], where: str) -> Any:
    """Return what one of the words stands for."""
    if not isinstance(value, str) or value not in words:
        raise ConfigError(f"{where}: {value!r} is not one of {', '.join(words)}.")
    return words[value]


def recovery(value: object, where: str) -> int | None:
    """Return NVML's number of a recovery action."""
    return None if value is None else int(word(value, RECOVERY_NUMBERS, where))
