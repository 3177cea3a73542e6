"""All resources that are served, changed as a whole."""

from __future__ import annotations

import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from device_plugin.metrics import DEVICES, REGISTERED
from device_plugin.plugin_api.messages import Listing, listing, units
from device_plugin.plugin_api.phases import Patience
from device_plugin.plugin_api.registrar import Ready, Registrar, ResourceSocket
from device_plugin.plugin_api.servicer import DevicePlugin, Serving
from device_plugin.plugin_api.streams import Streams
from gpu_core.health.book import HealthBook
from gpu_core.resources.model import Resource
from gpu_core.resources.names import short_name
from gpu_core.runtime.counters import Counters
from gpu_core.runtime.logs import get_logger
from gpu_core.runtime.probes import Check
from gpu_core.runtime.published import Published

_FAREWELL = 1.0
"""Seconds that open streams have to send the empty list of a resource that goes."""

_PATIENCE = 2.0
"""Seconds that calls in progress have to end when resources are stopped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KubeletSockets:
    """The directory of our sockets, and the kubelet's own socket; None serves without registering."""

    directory: Path
    kubelet: Path | None
    patience: Patience = field(default_factory=Patience)

    def of(self, resource: str) -> ResourceSocket:
        """Return where a resource is served."""
        path = self.directory / f"nvidia-{short_name(resource)}.sock"
        return ResourceSocket(resource=resource, path=path, kubelet=self.kubelet, patience=self.patience)


class ResourcePlugin:
    """Serves one resource from `start` to `close`; in between, what it offers may change without anybody noticing.

    `health` gives the present book.
    """

    def __init__(
        self,
        socket: ResourceSocket,
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
        self._registrar = Registrar(socket, servicer, self._streams, ready=ready, counters=counters)

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


class Plugins:
    """The resources by name. One thread applies and stops; `refresh` and `kubelet_changed` may come from others."""

    def __init__(
        self,
        sockets: KubeletSockets,
        health: Callable[[], HealthBook],
        *,
        ready: Callable[[str], str | None],
        counters: Counters,
    ) -> None:
        self._sockets = sockets
        self._health = health
        self._ready = ready
        self._counters = counters
        self._log = get_logger()
        self._plugins: Mapping[str, ResourcePlugin] = {}

    def apply(self, wanted: Mapping[str, Serving]) -> None:
        """Serve exactly these resources: those that stay keep their socket and their streams."""
        # One that nobody looks after any more, which only a fault of ours can bring about, is replaced.
        kept = {name: plugin for name, plugin in self._plugins.items() if name in wanted and plugin.running}
        gone = {name: plugin for name, plugin in self._plugins.items() if name not in kept}
        fresh = {name: self._new(serving) for name, serving in sorted(wanted.items()) if name not in kept}
        self._plugins = dict(sorted({**kept, **fresh}.items()))
        for name, plugin in kept.items():
            plugin.offer(wanted[name])
        for name, plugin in gone.items():
            self._log.info("No device of this resource is left; it is withdrawn", resource=name)
            plugin.farewell()
        said = time.monotonic() + _FAREWELL
        for plugin in gone.values():
            plugin.wait_farewell(said)
        _stop(gone.values())
        for name, plugin in fresh.items():
            devices = len(wanted[name].resource.devices)
            self._log.info("Serving a resource", resource=name, devices=devices)
            # Its health may have changed since its list was made, when nobody told it yet.
            plugin.refresh()
            plugin.start()

    def refresh(self) -> None:
        """Send new lists where the health of a device has changed."""
        for plugin in self._plugins.values():
            plugin.refresh()

    def kubelet_changed(self) -> None:
        """Let every resource look at the kubelet's socket and its own."""
        for plugin in self._plugins.values():
            plugin.kubelet_changed()

    def stop(self) -> None:
        """Stop serving, in a few seconds at most, whatever whoever is connected does."""
        plugins, self._plugins = self._plugins, {}
        _stop(plugins.values())

    def _new(self, serving: Serving) -> ResourcePlugin:
        name = serving.resource.name
        ready: Ready = lambda: self._ready(name)  # noqa: E731  The type says what it is.
        return ResourcePlugin(self._sockets.of(name), serving, self._health, ready=ready, counters=self._counters)

    def standing(self) -> tuple[tuple[Resource, Check], ...]:
        """Return every resource, and whether the kubelet follows its list."""
        return tuple((plugin.serving.resource, plugin.standing) for plugin in self._plugins.values())

    def count(self) -> None:
        """Set the numbers that tell how things are now; any thread may ask for it, at every reading of the numbers."""
        plugins = self._plugins
        book = self._health()
        counts: Counter[tuple[str, str, str]] = Counter()
        for name, plugin in plugins.items():
            # Of a resource without an unhealthy device, zero is a number too.
            counts[name, "healthy", ""] += 0
            resource = plugin.serving.resource
            shares = Counter(device.uuid for device in resource.devices)
            for device in units(resource):
                cause = "" if device.gpu is None else book.state(device.uuid).cause
                counts[name, "unhealthy" if cause else "healthy", cause] += shares[device.uuid]
        self._counters.replace(
            DEVICES,
            [
                ({"resource": name, "health": health, "reason": reason}, float(count))
                for (name, health, reason), count in counts.items()
            ],
        )
        followed = {name: plugin.registered for name, plugin in plugins.items()}
        self._counters.replace(
            REGISTERED,
            [({"resource": name}, float(state)) for name, state in followed.items() if state is not None],
        )


def _stop(plugins: Iterable[ResourcePlugin]) -> None:
    """Stop several together, so that one whose calls do not end takes no time from the others."""
    plugins = tuple(plugins)
    deadline = time.monotonic() + _PATIENCE
    for plugin in plugins:
        plugin.stop()
    for plugin in plugins:
        plugin.close(deadline)
