"""One resource as the kubelet meets it: its list, its answers, its socket, its registration."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable

from device_plugin.listing import Listing, listing
from device_plugin.registrar import Address, Ready, Registrar
from device_plugin.servicer import DevicePlugin, Serving
from device_plugin.streams import Streams
from gpu_core.resources.health import HealthBook
from gpu_core.runtime.counters import Counters
from gpu_core.runtime.probes import Check
from gpu_core.runtime.published import Published


class ResourcePlugin:
    """Serves one resource from `start` to `close`; in between, what it offers may change without anybody noticing.

    `health` gives the present book.
    """

    def __init__(
        self,
        address: Address,
        serving: Serving,
        health: Callable[[], HealthBook],
        *,
        ready: Ready,
        counters: Counters,
    ) -> None:
        self._serving = serving
        self._health = health
        self._lock = threading.Lock()
        self._withdrawn = False
        self._lists: Published[Listing] = Published(listing(serving.resource, health()))
        self._streams = Streams(self._wake)
        servicer = DevicePlugin(
            lambda: self._serving, self._lists, self._streams, counters=counters, new_id=lambda: str(uuid.uuid4())
        )
        self._registrar = Registrar(address, servicer, self._streams, ready=ready, counters=counters)

    def start(self) -> None:
        """Begin to serve and to register."""
        self._registrar.start()

    @property
    def running(self) -> bool:
        """Whether somebody looks after the socket and the registration."""
        return self._registrar.running

    @property
    def serving(self) -> Serving:
        """What is offered now."""
        return self._serving

    @property
    def standing(self) -> Check:
        """Whether the kubelet follows the list, or why not."""
        return self._registrar.standing

    @property
    def registered(self) -> bool | None:
        """Whether the kubelet follows the list now; None where there is no kubelet."""
        return self._registrar.registered

    @property
    def listing(self) -> Listing:
        """The list as it is now."""
        return self._lists.current()[1]

    def offer(self, serving: Serving) -> None:
        """Offer something else from now on; the socket, the registration and open streams stay."""
        self._serving = serving
        self.refresh()

    def refresh(self) -> None:
        """Send the list to all streams if the health of a device has changed."""
        # Under the lock, so that the list made from the newest book is also the last one published.
        with self._lock:
            if not self._withdrawn:
                self._lists.publish(listing(self._serving.resource, self._health()))

    def kubelet_changed(self) -> None:
        """Look at the kubelet's socket and our own at once."""
        self._wake()

    def farewell(self) -> None:
        """Begin to tell every stream that the resource has no devices any more."""
        with self._lock:
            self._withdrawn = True
            self._lists.publish(())

    def wait_farewell(self, deadline: float) -> None:
        """Wait until every stream was told, until the moment `deadline` at the latest."""
        self._streams.wait_sent(self._lists.current()[0], max(0.0, deadline - time.monotonic()))

    def stop(self) -> None:
        """Begin to stop: register no more, take no more calls, let every stream end. Returns at once."""
        self._registrar.stop()
        self._lists.close()

    def close(self, deadline: float) -> None:
        """Wait after `stop` until the socket is gone and every call has ended, or the moment `deadline` has come."""
        self._registrar.close(deadline)

    def _wake(self) -> None:
        self._registrar.wake()
