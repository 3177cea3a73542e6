"""What to say and to advise when the NVIDIA driver cannot be reached."""

from __future__ import annotations

from collections.abc import Sequence

from gpu_core.devices.model import Fault

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
