"""The node's GPUs, read from time to time by a program that does not watch them."""

from __future__ import annotations

from gpu_core.config.model import Config
from gpu_core.devices.known import keep_known
from gpu_core.devices.model import Inventory
from gpu_core.hardware.source import NodeSource


class Reader:
    """Reads the GPUs. One thread uses it.

    The driver is opened for every read: it counts the GPUs that are there when it is opened, and reads are rare.
    """

    def __init__(self, source: NodeSource) -> None:
        self._source = source
        self._known: Inventory | None = None

    def read(self, config: Config) -> Inventory:
        """Read every GPU now; what does not answer in full is as it was known. Raises HardwareError."""
        backend = self._source.open(config)
        try:
            inventory = backend.read()
        finally:
            backend.close()
        self._known = keep_known(self._known, inventory)
        return self._known
