"""Whether the node is a guest with virtual GPUs, and which driver its host runs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gpu_core.devices.model import PciFacts
from gpu_core.labels.labeler import PREFIX, Described, Labels
from gpu_core.labels.values import label_value

CONFIG_SIZE = 256

_STATUS = 0x06
_HAS_CAPABILITIES = 0x10
_FIRST_CAPABILITY = 0x34
_HEADER_SIZE = 0x40
_VENDOR_SPECIFIC = 0x09
_BROKEN = 0xFF
_SIGNATURE = b"VF"
_RECORDS = 5
_RECORD_HEAD = 2
_DRIVER_RECORD = 0
_TEXT_SIZE = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class VgpuHost:
    """The driver of the host that a virtual GPU runs on."""

    driver_version: str
    driver_branch: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Unclear:
    """Why it cannot be told whether a function is a virtual GPU; reads on from its PCI address."""

    reason: str


def vgpu_host(config: bytes) -> VgpuHost | Unclear | None:
    """Read a function's configuration space; None for one that is no virtual GPU."""
    if len(config) < _HEADER_SIZE:
        return Unclear(reason=f"offers only {len(config)} bytes of configuration space")
    if not config[_STATUS] & _HAS_CAPABILITIES:
        return None
    if len(config) < CONFIG_SIZE:
        return Unclear(
            reason=f"shows only {len(config)} of {CONFIG_SIZE} bytes of configuration space; the rest needs privilege"
        )
    position = config[_FIRST_CAPABILITY]
    visited: set[int] = set()
    while position:
        if position in visited or not _HEADER_SIZE <= position <= CONFIG_SIZE - 3:
            return Unclear(reason=f"has a list of PCI capabilities that goes astray at offset {position:#04x}")
        visited.add(position)
        identity, following, length = config[position : position + 3]
        if identity == _BROKEN:
            return None
        if identity == _VENDOR_SPECIFIC:
            capability = config[position : min(position + length, CONFIG_SIZE)]
            if capability[3:_RECORDS] == _SIGNATURE:
                return _driver_of(capability)
        position = following
    return None


def _driver_of(capability: bytes) -> VgpuHost | Unclear:
    position = _RECORDS
    while position + _RECORD_HEAD <= len(capability):
        identity, length = capability[position : position + _RECORD_HEAD]
        end = position + length
        least = _RECORD_HEAD + (2 * _TEXT_SIZE if identity == _DRIVER_RECORD else 0)
        if length < least:
            return Unclear(
                reason=f"has a vGPU capability with a record {identity} of {length} bytes, fewer than {least}"
            )
        if end > len(capability):
            return Unclear(reason=f"has a vGPU capability that ends within its record {identity}")
        if identity == _DRIVER_RECORD:
            version, branch = position + _RECORD_HEAD, position + _RECORD_HEAD + _TEXT_SIZE
            return VgpuHost(
                driver_version=_text(capability[version:branch]),
                driver_branch=_text(capability[branch : branch + _TEXT_SIZE]),
            )
        position = end
    return Unclear(reason="has a vGPU capability that does not hold the host's driver version")


def _text(data: bytes) -> str:
    return data.decode("latin-1").strip("\0")


def label(node: Described) -> Labels:
    """`vgpu.present`, and `vgpu.host-driver-version` and `-branch` where it is true.

    These labels need no driver. They are left out where the PCI bus, or an NVIDIA function on it, cannot be read.
    """
    functions = node.facts.pci
    if functions is None:
        return Labels(warnings=("The PCI bus cannot be read, so the vgpu labels are left out.",))
    unread = [function.address for function in functions if not function.config]
    if unread:
        return Labels(
            warnings=(f"The PCI configuration of {_list(unread)} cannot be read, so the vgpu labels are left out.",)
        )
    host, unclear = _search(functions)
    values = {f"{PREFIX}vgpu.present": "true" if host else "false"}
    if host is not None:
        values[f"{PREFIX}vgpu.host-driver-version"] = label_value(host.driver_version)
        values[f"{PREFIX}vgpu.host-driver-branch"] = label_value(host.driver_branch)
    warnings = tuple(
        f"PCI function {_list(addresses)} {reason}; it is taken for no virtual GPU."
        for reason, addresses in unclear.items()
    )
    return Labels(values=values, warnings=warnings)


def _search(functions: Iterable[PciFacts]) -> tuple[VgpuHost | None, dict[str, list[str]]]:
    host: VgpuHost | None = None
    unclear: dict[str, list[str]] = {}
    for function in sorted(functions, key=lambda function: function.address):
        found = vgpu_host(function.config)
        if isinstance(found, Unclear):
            unclear.setdefault(found.reason, []).append(function.address)
        elif found is not None:
            host = found
    return host, unclear


def _list(addresses: Iterable[str]) -> str:
    return ", ".join(sorted(addresses))
