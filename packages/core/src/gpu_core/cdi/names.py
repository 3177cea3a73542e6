"""The names under which our CDI devices are known."""

from __future__ import annotations

from enum import StrEnum

VENDOR = "k8s.device-plugin.nvidia.com"
SPEC_DIRECTORY = "/var/run/cdi"


class CdiClass(StrEnum):
    """The classes of our devices; one specification file each."""

    GPU = "gpu"
    IMEX_CHANNEL = "imex-channel"
    GDRCOPY = "gdrcopy"
    GDS = "gds"
    MOFED = "mofed"


def kind(cdi_class: CdiClass) -> str:
    """Return `<vendor>/<class>`."""
    return f"{VENDOR}/{cdi_class}"


def qualified_name(cdi_class: CdiClass, device: str) -> str:
    """Return `<vendor>/<class>=<device>`, as a runtime is asked for a device."""
    return f"{kind(cdi_class)}={device}"


def file_name(cdi_class: CdiClass) -> str:
    """Return the name of the file that holds a class, below the specification directory."""
    return f"{VENDOR}-{cdi_class}.json"
