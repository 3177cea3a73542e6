"""Reads how GPUs are connected: their closest common PCIe ancestor, and the NVLink bridges between them.

An NVLink counts towards the GPU at its other end; links into a switch lead to no GPU and count for none, as in the
allocator of the original.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pynvml

from gpu_core.devices.model import Gpu, LinkLevel, PairLink
from gpu_core.devices.nvml_calls import may
from gpu_core.devices.pci import kernel_address

_MOST_LINKS = 18
"""NVML_NVLINK_MAX_LINKS of the GPUs whose links can be bridges between two GPUs."""


def read_links(place: int, gpus: Sequence[tuple[Gpu, Any]]) -> tuple[PairLink, ...]:
    """Return the link from the GPU at one place to each, by place. What a lost GPU does not answer is unknown."""
    _, one = gpus[place]
    bridges = _bridges(one)
    return tuple(
        PairLink() if other == place else PairLink(level=_level(one, handle), nvlinks=bridges[_address(gpu)])
        for other, (gpu, handle) in enumerate(gpus)
    )


def _level(one: Any, other: Any) -> LinkLevel | None:
    level = may("DeviceGetTopologyCommonAncestor", pynvml.nvmlDeviceGetTopologyCommonAncestor, one, other)
    try:
        return None if level is None else LinkLevel(level)
    except ValueError:
        return None


def _bridges(handle: Any) -> Counter[str]:
    """Return how many of a GPU's active NVLinks end at each PCI address."""
    ends: Counter[str] = Counter()
    for link in range(_MOST_LINKS):
        state = may("DeviceGetNvLinkState", pynvml.nvmlDeviceGetNvLinkState, handle, link)
        if state != pynvml.NVML_FEATURE_ENABLED:
            continue
        bus_id = may("DeviceGetNvLinkRemotePciInfo", _remote_bus_id, handle, link)
        address = None if bus_id is None else kernel_address(bus_id)
        if address is not None:
            ends[address] += 1
    return ends


def _remote_bus_id(handle: Any, link: int) -> str:
    bus_id: str = pynvml.nvmlDeviceGetNvLinkRemotePciInfo(handle, link).busId
    return bus_id


def _address(gpu: Gpu) -> str:
    return (kernel_address(gpu.pci_bus_id) if gpu.pci_bus_id else None) or ""
