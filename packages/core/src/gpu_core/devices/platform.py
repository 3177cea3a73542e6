"""Decides through which interface a node's GPUs are reached, from facts that others gathered."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import assert_never

from gpu_core.config.words import DeviceDiscoveryStrategy
from gpu_core.devices.model import Platform

_TEGRA = "nvidia,tegra"
_INTEGRATED = "(nvgpu)"
_THOR = "NVIDIA Thor"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformFacts:
    """What was seen of a node.

    `dxcore`: Windows' GPU library, which only WSL has. `tegra`: a mark of a Tegra system. `nvml`: NVML loads.
    `gpu_names`: the products that NVML names, None when it cannot be asked.
    """

    dxcore: bool
    tegra: bool
    nvml: bool
    gpu_names: tuple[str, ...] | None = None


def choose_platform(strategy: DeviceDiscoveryStrategy, facts: PlatformFacts) -> Platform | None:
    """Return the platform; None when `auto` finds no mark of any. vfio is never found automatically."""
    match strategy:
        case DeviceDiscoveryStrategy.AUTO:
            return _detect(facts)
        case DeviceDiscoveryStrategy.NVML:
            return Platform.NVML
        case DeviceDiscoveryStrategy.TEGRA:
            return Platform.TEGRA
        case DeviceDiscoveryStrategy.VFIO:
            return Platform.VFIO
        case _:
            assert_never(strategy)


def _detect(facts: PlatformFacts) -> Platform | None:
    if facts.dxcore:
        return Platform.WSL
    if facts.tegra and not facts.nvml:
        return Platform.TEGRA
    if facts.gpu_names and all(is_integrated(name) for name in facts.gpu_names):
        return Platform.TEGRA
    return Platform.NVML if facts.nvml else None


def is_integrated(name: str) -> bool:
    """Whether a product is the GPU of a Tegra chip."""
    return _INTEGRATED in name or _THOR in name


def tegra_name(compatible: Iterable[str]) -> str | None:
    """Return the Tegra chip or part of one among the names by which a device tree tells what it describes."""
    return next((name for name in compatible if name.startswith(_TEGRA)), None)


def is_orin(name: str) -> bool:
    """Whether a product is the GPU of an Orin chip."""
    return f"Orin {_INTEGRATED}" in name
