"""Reads how GPUs are connected: their closest common PCIe ancestor, and their NVLinks.

An NVLink counts towards the GPU at its other end, as in the allocator of the original. One that ends in a switch leads
to no GPU, and is counted by itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pynvml

from gpu_core.devices.model import Gpu, LinkLevel, PairLink
from gpu_core.devices.node_files import NodeFiles
from gpu_core.devices.nvml.calls import may
from gpu_core.devices.pci import NVIDIA, kernel_address
from gpu_core.devices.switched_links import GpuLinks

_MOST_LINKS = 18
"""NVML_NVLINK_MAX_LINKS: how many NVLinks a GPU can have."""

_SWITCH_CLASS = 0x0680
"""PCI's class of bridges that are of no other kind, to which NVSwitches belong."""


def read_links(place: int, gpus: Sequence[tuple[Gpu, Any]], files: NodeFiles) -> GpuLinks:
    """Return what the GPU at one place says of its links. What a lost GPU does not answer is unknown."""
    _, one = gpus[place]
    known = frozenset(_address(gpu) for gpu, _ in gpus)
    bridges, into_switches = _ends(one, known, files)
    ways = tuple(
        PairLink() if other == place else PairLink(level=_level(one, handle), nvlinks=bridges[_address(gpu)])
        for other, (gpu, handle) in enumerate(gpus)
    )
    return GpuLinks(ways=ways, into_switches=into_switches)


def _level(one: Any, other: Any) -> LinkLevel | None:
    level = may("DeviceGetTopologyCommonAncestor", pynvml.nvmlDeviceGetTopologyCommonAncestor, one, other)
    try:
        return None if level is None else LinkLevel(level)
    except ValueError:
        return None


def _ends(handle: Any, known: frozenset[str], files: NodeFiles) -> tuple[Counter[str], int]:
    """Return how many of a GPU's active NVLinks end at each GPU's PCI address, and how many in a switch."""
    ends: Counter[str] = Counter()
    switched = 0
    for link in range(_MOST_LINKS):
        state = may("DeviceGetNvLinkState", pynvml.nvmlDeviceGetNvLinkState, handle, link)
        if state != pynvml.NVML_FEATURE_ENABLED:
            continue
        bus_id = may("DeviceGetNvLinkRemotePciInfo", _remote_bus_id, handle, link)
        address = None if bus_id is None else kernel_address(bus_id)
        if address is not None and address in known:
            ends[address] += 1
        elif _ends_in_switch(handle, link, address, files):
            switched += 1
    return ends, switched


def _ends_in_switch(handle: Any, link: int, address: str | None, files: NodeFiles) -> bool:
    kind = may("DeviceGetNvLinkRemoteDeviceType", pynvml.nvmlDeviceGetNvLinkRemoteDeviceType, handle, link)
    if kind is not None and kind != pynvml.NVML_NVLINK_DEVICE_TYPE_UNKNOWN:
        return bool(kind == pynvml.NVML_NVLINK_DEVICE_TYPE_SWITCH)
    # Drivers before 470 do not tell; the kernel does where the switch is on this machine's own bus.
    facts = None if address is None else files.pci(address)
    if facts is None or facts.class_code is None:
        return False
    return facts.vendor == NVIDIA and facts.class_code >> 8 == _SWITCH_CLASS


def _remote_bus_id(handle: Any, link: int) -> str:
    bus_id: str = pynvml.nvmlDeviceGetNvLinkRemotePciInfo(handle, link).busId
    return bus_id


def _address(gpu: Gpu) -> str:
    return (kernel_address(gpu.pci_bus_id) if gpu.pci_bus_id else None) or ""
