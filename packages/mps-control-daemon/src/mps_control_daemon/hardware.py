"""The node's GPUs as this program sees them: read from time to time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from gpu_core.config.model import Config
from gpu_core.config.settings import MpsSettings
from gpu_core.devices.backend import Backend
from gpu_core.devices.choose import open_backend
from gpu_core.devices.driver_threads import DriverThreads
from gpu_core.devices.model import Inventory
from gpu_core.devices.simulated.files import load_node
from gpu_core.resources.known import keep_known

Open = Callable[[Config], Backend]
"""Opens the node's driver as a config asks; raises HardwareError."""


def opener(settings: MpsSettings, threads: DriverThreads | None = None) -> Open:
    """Return what opens the node that the settings name; `threads` are those of this process that are in the driver.

    Raises SuiteError for a simulated node that cannot be read.
    """
    threads = threads or DriverThreads()
    node = load_node(settings.simulated_node) if settings.simulated_node else None
    events = Path(settings.simulated_events) if settings.simulated_events else None
    return lambda config: open_backend(
        strategy=config.flags.device_discovery_strategy,
        driver_root_ctr=config.flags.plugin.container_driver_root,
        library_path=config.flags.driver_library_directories,
        simulated=node,
        simulated_events=events,
        threads=threads,
    )


class Hardware:
    """Reads the GPUs. One thread uses it.

    The driver is opened for every read: it counts the GPUs that are there when it is opened, and reads are rare.
    """

    def __init__(self, open_: Open) -> None:
        self._open = open_
        self._known: Inventory | None = None

    def read(self, config: Config) -> Inventory:
        """Read every GPU now; what does not answer in full is as it was known. Raises HardwareError."""
        backend = self._open(config)
        try:
            inventory = backend.read()
        finally:
            backend.close()
        self._known = keep_known(self._known, inventory)
        return self._known
