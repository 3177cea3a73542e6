"""The node's GPUs as a program has them open: read again and again, watched, and opened anew when they vanish."""

from __future__ import annotations

import threading
import time
from dataclasses import replace

from gpu_core.config.model import Config
from gpu_core.devices.backend import Backend
from gpu_core.devices.driver_threads import DEADLINE, StuckCall
from gpu_core.devices.known import keep_known
from gpu_core.devices.model import Inventory, Platform
from gpu_core.hardware.node_health import NodeHealth
from gpu_core.hardware.source import NodeSource
from gpu_core.hardware.watch import HealthWatch
from gpu_core.runtime.counters import Counters
from gpu_core.runtime.logs import get_logger

_CATCH_UP = 2 * DEADLINE
"""Seconds in which GPUs are asked for their events before devices are listed: a round may just have begun."""

_LAST_ROUND = DEADLINE + 1.0
"""Seconds that a call into the driver has to return when we let go of it."""

_LAST_LOOK = 1.0
"""Seconds that it has when the program ends, and nothing is done to the driver any more."""

_UNHEARD = DEADLINE
"""Seconds in which nobody may wait for events, as while the driver is opened anew, before no GPU counts as watched."""


class OpenDriver:
    """One thread uses it; any thread may ask what is stuck."""

    def __init__(self, source: NodeSource, *, counters: Counters) -> None:
        self._source = source
        self._bound_at_opening: frozenset[str] = frozenset()
        self._counters = counters
        self._log = get_logger()
        self._backend: Backend | None = None
        self._watch: HealthWatch | None = None
        # Those that have been told to end, and that a call into the driver keeps.
        self._left: tuple[HealthWatch, ...] = ()
        self._health: NodeHealth | None = None
        self._gap: threading.Timer | None = None
        self._opening: tuple[object, ...] = ()
        self._known: Inventory | None = None
        self._renumbered = False

    def read(self, config: Config) -> Inventory:
        """Read every GPU now, through the driver that a config names; what does not answer in full is as it was known.

        Links are read only when there are other GPUs than before: they take far longer than all the rest. Raises
        HardwareError.
        """
        backend, before = self._open(config), self._known
        if before is not None:
            inventory = keep_known(before, backend.read(), renumbered=self._renumbered)
            if _parts(before) - _parts(inventory):
                # What a driver says of a place without a MIG device, it also says when it fails to find one; so a
                # single such answer takes no device away from its container.
                inventory = keep_known(before, backend.read(), renumbered=self._renumbered)
            inventory = replace(inventory, links=before.links)
        if before is None or _seen(before) != _seen(inventory):
            inventory = keep_known(before, backend.read(links=True), renumbered=self._renumbered)
        self._known, self._renumbered = inventory, False
        return inventory

    def _open(self, config: Config) -> Backend:
        bound, opening = self._source.bound(), _opening(config)
        if self._backend is not None and opening != self._opening:
            self.close()
        if self._backend is not None and bound != self._bound_at_opening:
            self._log.info("The kernel's driver holds other GPUs than before; opening it anew")
            self.close()
            self._renumbered = True
        if self._backend is None:
            self._backend = self._source.open(config)
            self._bound_at_opening, self._opening = bound, opening
        return self._backend

    def watch(self, health: NodeHealth, *, probe_interval: float) -> None:
        """See to it that every GPU that `health` knows is watched, from this moment on."""
        self._end_gap()
        if self._backend is None or self._backend.platform is not Platform.NVML:
            return
        if self._watch is not None and not self._watch.running:
            self.unwatch()
            self._end_gap()
        if self._watch is None:
            self._watch = HealthWatch(
                self._backend, health, self._source.threads, probe_interval=probe_interval, counters=self._counters
            )
            self._health = health
            self._watch.start()
        self._watch.probe_every(probe_interval)
        self._watch.catch_up(_CATCH_UP)

    def unwatch(self) -> bool:
        """Stop watching; returns whether the driver let go. Devices count as watched for a few seconds more."""
        if self._watch is not None:
            self._begin_gap()
            self._left = (*self._left, self._watch)
            self._watch = None
        end = time.monotonic() + (_LAST_LOOK if self._source.threads.abandoned else _LAST_ROUND)
        self._left = tuple(watch for watch in self._left if not watch.stop(max(0.0, end - time.monotonic())))
        return not self._left

    def stop(self) -> None:
        """Let go of the driver for good."""
        self.close()
        self._end_gap()

    def _begin_gap(self) -> None:
        """Let the book know when this takes long: the driver may keep us from watching again."""
        self._gap = threading.Timer(_UNHEARD, self._tell_gap)
        self._gap.daemon = True
        self._gap.start()

    def _end_gap(self) -> None:
        gap, self._gap = self._gap, None
        if gap is not None:
            gap.cancel()
            # What it has begun to tell must not come after what those who watch from now on have to tell.
            gap.join(DEADLINE)

    def _tell_gap(self) -> None:
        if self._health is not None and not self._source.threads.abandoned:
            self._health.unwatched()

    def stuck(self) -> tuple[StuckCall, ...]:
        """Return the calls into the driver that have not returned in time; any thread may ask."""
        watch, left = self._watch, self._left
        waits = (each.hanging for each in (*left, *(() if watch is None else (watch,))))
        return (*self._source.threads.stuck(), *(wait for wait in waits if wait is not None))

    def close(self) -> None:
        """Let go of the driver. The next `read` opens it anew."""
        released = self.unwatch()
        backend, self._backend = self._backend, None
        if backend is None:
            return
        if released and not self._source.threads.stuck():
            backend.close()
        elif not self._source.threads.abandoned:
            # Shutting the library down under a call that is still in it would crash the process.
            self._log.error("A call into the driver does not return; the driver is left open")


def _opening(config: Config) -> tuple[object, ...]:
    """Return what decides how the driver is opened."""
    flags = config.flags
    return flags.device_discovery_strategy, flags.plugin.container_driver_root, flags.driver_library_path


def _seen(inventory: Inventory) -> tuple[tuple[str, bool], ...]:
    """Return which GPUs there are, and which of them can be read: of one that cannot, the links are not known."""
    return tuple((gpu.uuid, gpu.usable) for gpu in inventory.gpus)


def _parts(inventory: Inventory) -> frozenset[str]:
    """Return the MIG devices that there are."""
    return frozenset(mig.uuid for gpu in inventory.gpus for mig in gpu.mig_devices)
