"""Runs the device plugin on a simulated driver in virtual time, with what is offered to the kubelet kept as values."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar
from unittest import mock

from device_plugin import served_node as node_module
from device_plugin.allocation.allocate import allocate
from device_plugin.app import App
from device_plugin.plugin_api.messages import listing
from device_plugin.plugin_api.plugins import KubeletSockets
from device_plugin.plugin_api.servicer import Serving
from device_plugin.served_node import Directories
from fakes.virtual_threads import living_in
from fakes.virtual_world import World
from gpu_core.config.load import load
from gpu_core.config.model import Config
from gpu_core.config.programs.device_plugin import DEVICE_PLUGIN
from gpu_core.devices.backend import Backend
from gpu_core.devices.device_nodes import CONTROL_NODES
from gpu_core.devices.driver_threads import DriverThreads
from gpu_core.devices.model import Platform
from gpu_core.devices.nvml.reader import NvmlBackend
from gpu_core.devices.simulated.backend import SimulatedFiles
from gpu_core.devices.simulated.commands import parse_command
from gpu_core.devices.simulated.library import SimulatedLibrary
from gpu_core.devices.simulated.state import SimulatedState
from gpu_core.hardware.source import NodeSource
from gpu_core.health.book import HealthBook
from gpu_core.mps import MpsRoot
from gpu_core.resources.model import Resource
from gpu_core.runtime.counters import Counters
from gpu_core.runtime.logs import configure
from gpu_core.runtime.probes import Check
from gpu_core.runtime.supervise import Actions

S = TypeVar("S", bound=SimulatedState)

Picture = Mapping[str, bool]
"""What the kubelet would know: whether each device is healthy, by id, whichever its resource is."""


class Offered:
    """Stands where the resources' sockets are, and keeps what would be listed there."""

    def __init__(self, health: Callable[[], HealthBook]) -> None:
        self._health = health
        self.serving: Mapping[str, Serving] = {}
        self.ever: set[str] = set()

    def apply(self, wanted: Mapping[str, Serving]) -> None:
        """Offer exactly this."""
        self.serving = dict(wanted)
        self.refresh()

    def refresh(self) -> None:
        """Take note of what is listed now."""
        self.ever |= self.picture().keys()

    def picture(self) -> Picture:
        """Return all devices, and whether each is healthy."""
        lists = [listing(serving.resource, self._health()) for serving in tuple(self.serving.values())]
        return {device.id: device.healthy for devices in lists for device in devices}

    def allocate(self, device: str) -> bool:
        """Whether a device can be given to a container."""
        for serving in self.serving.values():
            if any(known.id == device for known in serving.resource.devices):
                return bool(allocate(serving.resource, [device], serving.rules, "id").envs)
        return False

    def kubelet_changed(self) -> None:
        """Do nothing; there is no kubelet."""

    def stop(self) -> None:
        """Do nothing; there are no sockets."""

    def standing(self) -> tuple[tuple[Resource, Check], ...]:
        """Return what is offered."""
        return tuple(
            (serving.resource, Check(name=serving.resource.name, ok=True, reason=""))
            for serving in self.serving.values()
        )


@dataclass(kw_only=True)
class VirtualPlugin(Generic[S]):
    """A plugin whose time is that of `world`; whoever uses it is its main thread."""

    world: World
    state: S
    app: App
    threads: DriverThreads
    config_file: Path
    offers: list[Offered]
    log: io.StringIO = field(repr=False)

    @property
    def offered(self) -> Offered:
        """What is offered to the kubelet."""
        return self.offers[0]

    def say(self, *lines: str) -> None:
        """Let things happen to the simulated node."""
        for line in lines:
            command = parse_command(line)
            assert command is not None, line
            self.state.obey(command)

    def start(self) -> None:
        """Start the app."""
        self.app.start()

    def reload(self, config: str) -> None:
        """Let the app read another config."""
        self.config_file.write_text(config, "utf-8")
        self.app.act(Actions(reload=("test",)))

    def rescan(self) -> None:
        """Let the app read the hardware."""
        self.app.act(Actions(rescan=("test",)))

    def run(self, seconds: float) -> None:
        """Let time pass and the app do what is due."""
        end = self.world.now + seconds
        while self.world.now < end:
            wait = self.app.wait()
            self.world.sleep(min(end - self.world.now, end if wait is None else wait))
            if self.app.wait() == 0:
                self.app.act(Actions())

    def lines(self) -> list[dict[str, Any]]:
        """Return what was logged."""
        return [json.loads(line) for line in self.log.getvalue().splitlines()]


@contextmanager
def virtual_plugin(
    world: World, directory: Path, config: str, *, make_state: Callable[[], S]
) -> Iterator[VirtualPlugin[S]]:
    """Make a plugin that was not started yet; `make_state` makes the simulated node."""
    config_file = directory / "config.yaml"
    config_file.write_text(config, "utf-8")
    argv = ["--kubelet-socket=", f"--device-plugin-dir={directory}", f"--config-file={config_file}"]
    log = io.StringIO()
    offers: list[Offered] = []

    def offered(_sockets: object, health: Callable[[], HealthBook], **_: object) -> Offered:
        offers.append(Offered(health))
        return offers[0]

    with ExitStack() as stack:
        stack.enter_context(living_in(world, "gpu_core", "device_plugin"))
        stack.enter_context(mock.patch.object(node_module, "Plugins", offered))
        stack.callback(world.close)
        configure(json=True, stream=log)
        state = make_state()
        library, files = SimulatedLibrary(state), SimulatedFiles(state.node)
        threads = DriverThreads(clock=world.monotonic)

        def opened(_config: Config) -> Backend:
            return NvmlBackend(library, files, Platform.NVML, threads)

        source = NodeSource(open=opened, exists=frozenset(CONTROL_NODES).__contains__, node=state.node, threads=threads)
        directories = Directories(
            kubelet=KubeletSockets(directory=directory, kubelet=None),
            cdi=directory / "cdi",
            mps=MpsRoot(str(directory / "mps")),
        )
        app = App(load(DEVICE_PLUGIN, argv, {}), source, directories, counters=Counters(), clock=world.monotonic)
        yield VirtualPlugin(
            world=world, state=state, app=app, threads=threads, config_file=config_file, offers=offers, log=log
        )
