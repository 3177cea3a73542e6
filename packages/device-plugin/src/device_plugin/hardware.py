"""The node's GPUs as this program has them open: read again and again, watched, and opened anew when they vanish."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from device_plugin.health_loop import HealthLoop
from device_plugin.node_health import NodeHealth
from gpu_core.devices.backend import Backend
from gpu_core.devices.model import Inventory, Platform
from gpu_core.resources.lost import keep_lost
from gpu_core.runtime.counters import Counters
from gpu_core.runtime.logs import get_logger

_FIRST_ROUND = 5.0
"""Seconds that the driver has to let every GPU be watched, before devices are listed."""

_LAST_ROUND = 5.0
"""Seconds that a call into the driver has to return when we let go of it."""


class Hardware:
    """One thread uses it.

    `open_backend` opens the node's driver and raises HardwareError; `bound` tells which PCI functions the driver holds.
    """

    def __init__(
        self, open_backend: Callable[[], Backend], bound: Callable[[], frozenset[str]], *, counters: Counters
    ) -> None:
        self._open_backend = open_backend
        self._bound = bound
        self._bound_at_opening: frozenset[str] = frozenset()
        self._counters = counters
        self._log = get_logger()
        self._backend: Backend | None = None
        self._loop: HealthLoop | None = None
        self._known: Inventory | None = None

    def read(self) -> Inventory:
        """Read every GPU now; what got lost since the last time is among them, as it was known. Raises HardwareError.

        Links are read only when there are other GPUs than before: they take far longer than all the rest.
        """
        backend, before = self._open(), self._known
        if before is None:
            inventory = backend.read(links=True)
        else:
            inventory = keep_lost(before, backend.read())
            if _seen(before) == _seen(inventory):
                inventory = replace(inventory, links=before.links)
            else:
                inventory = keep_lost(before, backend.read(links=True))
        self._known = inventory
        return inventory

    def _open(self) -> Backend:
        bound = self._bound()
        if self._backend is not None and bound != self._bound_at_opening:
            self._log.info("The kernel's driver holds other GPUs than before; opening it anew")
            self.close()
            # Indices mean other GPUs now, so nothing can be said of one that cannot be read.
            self._known = None
        if self._backend is None:
            self._backend = self._open_backend()
            self._bound_at_opening = bound
        return self._backend

    def watch(self, health: NodeHealth, *, probe_interval: float) -> None:
        """See to it that every GPU that `health` knows is watched, from this moment on."""
        if self._backend is None or self._backend.platform is not Platform.NVML:
            return
        if self._loop is None or not self._loop.running:
            self._loop = HealthLoop(self._backend, health, probe_interval=probe_interval, counters=self._counters)
            self._loop.start()
        self._loop.catch_up(_FIRST_ROUND)

    def unwatch(self) -> bool:
        """Stop watching; returns whether the driver let go."""
        loop, self._loop = self._loop, None
        return loop is None or loop.stop(_LAST_ROUND)

    def close(self) -> None:
        """Let go of the driver. The next `read` opens it anew."""
        released = self.unwatch()
        backend, self._backend = self._backend, None
        if backend is None:
            return
        if released:
            backend.close()
        else:
            # Shutting the library down under a call that is still in it would crash the process.
            self._log.error("A call into the driver does not return; the driver is left open")


def _seen(inventory: Inventory) -> tuple[tuple[str, bool], ...]:
    """Return which GPUs there are, and which of them can be read: of one that cannot, the links are not known."""
    return tuple((gpu.uuid, gpu.usable) for gpu in inventory.gpus)
