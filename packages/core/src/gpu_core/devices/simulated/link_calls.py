"""NVML's functions about the links between GPUs, answered from a simulated node."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from gpu_core.devices.simulated.c_values import number, put_number, target
from gpu_core.devices.simulated.gpu_calls import INVALID_ARGUMENT, NOT_SUPPORTED, SUCCESS
from gpu_core.devices.simulated.handles import Handles
from gpu_core.devices.simulated.links import MOST_LINKS
from gpu_core.devices.simulated.node import SimulatedNode

_SWITCHES = 6
_FIRST_SWITCH_BUS = 0xC0

# NVML's kinds of what is at the end of an NVLink.
_GPU = 0
_SWITCH = 2


def _position(handles: Handles, device: Any) -> int | None:
    unit = handles.unit(device)
    gpus = handles.state.node.gpus
    return next((index for index, gpu in enumerate(gpus) if unit is not None and gpu.uuid == unit.uuid), None)


def _peers(node: SimulatedNode, position: int) -> list[str]:
    """Return the bus id of the GPU at the end of each NVLink of a GPU that leads to one."""
    return [node.gpus[peer].bus_id for peer, links in enumerate(node.bridges[position]) for _ in range(links)]


def _ends(node: SimulatedNode, position: int) -> list[str]:
    """Return the bus id at the end of each of a GPU's NVLinks, other GPUs first."""
    buses = (_FIRST_SWITCH_BUS + link % _SWITCHES for link in range(node.switch_links))
    return [*_peers(node, position), *(f"00000000:{bus:02X}:00.0" for bus in buses)]


def _common_ancestor(handles: Handles, one: Any, other: Any, level: Any) -> int:
    a, b = _position(handles, one), _position(handles, other)
    if a is None or b is None:
        return handles.refusal(other) if handles.unit(other) is None else INVALID_ARGUMENT
    put_number(level, int(handles.state.node.levels[a][b]))
    return SUCCESS


def _link_state(handles: Handles, device: Any, link: Any, state: Any) -> int:
    position = _position(handles, device)
    ends = [] if position is None else _ends(handles.state.node, position)
    if not ends:
        return NOT_SUPPORTED
    if not 0 <= number(link) < MOST_LINKS:
        return INVALID_ARGUMENT
    put_number(state, int(number(link) < len(ends)))
    return SUCCESS


def _remote_pci_info(handles: Handles, device: Any, link: Any, info: Any) -> int:
    position = _position(handles, device)
    ends = [] if position is None else _ends(handles.state.node, position)
    if not 0 <= number(link) < len(ends):
        return NOT_SUPPORTED
    target(info).busId = ends[number(link)].encode()
    return SUCCESS


def _remote_device_type(handles: Handles, device: Any, link: Any, kind: Any) -> int:
    position = _position(handles, device)
    node = handles.state.node
    if position is None or not 0 <= number(link) < len(_ends(node, position)):
        return NOT_SUPPORTED
    put_number(kind, _SWITCH if number(link) >= len(_peers(node, position)) else _GPU)
    return SUCCESS


LINK_CALLS: Mapping[str, Callable[..., int]] = MappingProxyType(
    {
        "DeviceGetTopologyCommonAncestor": _common_ancestor,
        "DeviceGetNvLinkState": _link_state,
        "DeviceGetNvLinkRemotePciInfo": _remote_pci_info,
        "DeviceGetNvLinkRemoteDeviceType": _remote_device_type,
    }
)
