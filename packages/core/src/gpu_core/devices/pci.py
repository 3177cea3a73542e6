"""PCI addresses: NVML's form, with a domain of eight digits, and the kernel's, with at least four."""

from __future__ import annotations

import re

_NVML = re.compile(r"([0-9a-fA-F]{4,8}):([0-9a-fA-F]{2}):([0-9a-fA-F]{2})\.([0-7])")


def kernel_address(bus_id: str) -> str | None:
    """Return how the kernel writes NVML's bus id: `00000000:07:00.0` is `0000:07:00.0`; None for other texts.

    The kernel prints a domain with at least four digits, so `00010000:07:00.0` keeps five.
    """
    match = _NVML.fullmatch(bus_id)
    if match is None:
        return None
    domain, bus, device, function = match.groups()
    return f"{int(domain, 16):04x}:{bus.lower()}:{device.lower()}.{function}"
