"""Through which interface a node's GPUs are reached, from facts that others gathered; and what to do without one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import assert_never

from gpu_core.config.words import DeviceDiscoveryStrategy
from gpu_core.devices.model import Fault, Platform

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


WRONG_LIBRARY = (
    "The library is not made for this machine. In WSL it has to be the one of the Windows driver, with the whole of "
    "/usr/lib/wsl and /dev/dxg, which the NVIDIA runtime (container toolkit 1.13 or newer) brings; install no Linux "
    "driver inside WSL. Elsewhere, `nvidia-smi` on the node tells whether the driver knows these GPUs."
)

_REASONS = {
    "DRIVER_NOT_LOADED": "The kernel driver is not loaded; load it with `modprobe nvidia` on the node.",
    "LIB_RM_VERSION_MISMATCH": "The library and the kernel driver are of different versions; reload the driver or "
    "reboot the node.",
    "NOT_SUPPORTED": WRONG_LIBRARY,
    "NO_PERMISSION": "This process may not use the driver's device nodes; check the container's security context.",
    "GPU_IS_LOST": "A GPU fell off the bus; reset it or reboot the node.",
}


def not_started(fault: Fault) -> str:
    """Return the message for a driver that is there and does not start."""
    reason = _REASONS.get(fault.code, "Run `nvidia-smi` on the node to see whether the driver works there.")
    return f"The NVIDIA driver does not start: {fault}. {reason}"


def not_found(library: str, *, searched: Sequence[str], failures: Sequence[tuple[str, str]]) -> str:
    """Return where a driver is not.

    `searched` are the places, `failures` the files that were tried, each with the loader's reason; the bare name of the
    library stands for the loader's own search.
    """
    neither = "neither in" if len(searched) > 1 else "not in"
    broken = [f" {path} is there, but cannot be loaded: {reason}." for path, reason in failures if path != library]
    return f"No NVIDIA driver was found: {library} is {neither} {' nor in '.join(searched)}.{''.join(broken)}"


def where_none_was_found(flag: str) -> str:
    """Return what to do about it; `flag` names directories that are not searched by themselves."""
    return (
        "Install the driver on the node, and give this container the NVIDIA runtime or the driver's files. If it is "
        f"installed elsewhere, name its directories inside the driver root with {flag}. On a Jetson or another Tegra "
        "system that is not recognized, set --device-discovery-strategy=tegra. --simulated-node works without a driver."
    )
