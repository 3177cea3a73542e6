"""The node's GPUs as this program sees them: read from time to time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from gpu_core.config.model import Config
from gpu_core.config.settings import MpsSettings
from gpu_core.devices.backend import Backend
from gpu_core.devices.choose import open_backend
from gpu_core.devices.model import Inventory
from gpu_core.devices.simulated.files import load_node
from gpu_core.resources.lost import keep_lost

Open = Callable[[Config], Backend]
"""Opens the node's driver as a config asks; raises HardwareError."""


def opener(settings: MpsSettings) -> Open:
    """Return what opens the node that the settings name. Raises SuiteError for a simulated one that cannot be read."""
    node = load_node(settings.simulated_node) if settings.simulated_node else None
    events = Path(settings.simulated_events) if settings.simulated_events else None
    return lambda config: open_backend(
        # As in the original, only the loader says where the driver's library is; the driver root is the plugin's.
        strategy=config.flags.device_discovery_strategy,
        simulated=node,
        simulated_events=events,
    )


class Hardware:
    """Reads the GPUs. One thread uses it.

    The driver is opened for every read: it counts the GPUs that are there when it is opened, and reads are rare.
    """

    def __init__(self, open_: Open) -> None:
        self._open = open_
        self._known: Inventory | None = None

    def read(self, config: Config) -> Inventory:
        """Read every GPU now; those that got lost since the last time are among them. Raises HardwareError."""
        backend = self._open(config)
        try:
            inventory = backend.read()
        finally:
            backend.close()
        if self._known is not None:
            inventory = keep_lost(self._known, inventory)
        self._known = inventory
        return inventory
