"""A backend: an open way to read the node's GPUs."""

from __future__ import annotations

from typing import Protocol

from gpu_core.devices.events import HealthMonitor
from gpu_core.devices.model import Inventory, Platform


class Backend(Protocol):
    """What every backend offers. `read` may be called any number of times until `close`."""

    @property
    def platform(self) -> Platform:
        """The interface behind this backend."""

    def read(self, *, links: bool = False) -> Inventory:
        """Read every GPU now, and with `links` how they are connected; faults of one GPU stay its own."""

    def monitor(self) -> HealthMonitor | None:
        """Open the source of health events; None on platforms without one. Raises NvmlCallError."""

    def close(self) -> None:
        """Release the driver. Every monitor has to be closed before."""
