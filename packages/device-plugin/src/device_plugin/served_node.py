"""The node as it is served: its hardware, the health of its devices, and the resources that the kubelet knows."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from device_plugin.allocation.provision import provide
from device_plugin.metrics import HEALTH
from device_plugin.plan import plan_node
from device_plugin.plugin_api.plugins import KubeletSockets, Plugins
from device_plugin.plugin_api.servicer import Serving
from gpu_core.cdi.names import SPEC_DIRECTORY
from gpu_core.config.model import Config
from gpu_core.config.programs.device_plugin import PluginSettings
from gpu_core.devices.driver_threads import StuckCall
from gpu_core.devices.filter import apply as without_unmanaged
from gpu_core.devices.model import Fault, Inventory
from gpu_core.errors import HardwareError, NvmlCallError, SuiteError
from gpu_core.hardware.driver import OpenDriver
from gpu_core.hardware.node_health import NodeHealth, Observer
from gpu_core.hardware.source import NodeSource
from gpu_core.health.book import HealthBook, HealthRules
from gpu_core.mps import CONTAINER_ROOT, MpsRoot
from gpu_core.mps.watch import MpsWatch
from gpu_core.preference.closeness import links_by_uuid
from gpu_core.resources.model import Resource
from gpu_core.runtime.counters import Counters
from gpu_core.runtime.probes import Check


@dataclass(frozen=True, slots=True, kw_only=True)
class Directories:
    """Where things are put and looked for. `mps` is the shared MPS directory as our container sees it."""

    kubelet: KubeletSockets
    cdi: Path = Path(SPEC_DIRECTORY)
    mps: MpsRoot = field(default_factory=lambda: MpsRoot(CONTAINER_ROOT))


class ServedNode:
    """One thread uses it; only `kubelet_changed` may come from others. `stop` comes last."""

    def __init__(
        self,
        source: NodeSource,
        directories: Directories,
        settings: PluginSettings,
        config: Config,
        rules: HealthRules,
        *,
        counters: Counters,
        observers: Iterable[Observer] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._source = source
        self._directories = directories
        self._settings = settings
        self._config = config
        self._counters = counters
        self._managed: Inventory | None = None
        self._health = NodeHealth(rules, counters=counters, metrics=HEALTH, observers=observers, clock=clock)
        self._mps = MpsWatch(directories.mps, self._health.unshareable, stirred=self.kubelet_changed)
        self._plugins = Plugins(directories.kubelet, self._health.current, ready=self._mps.ready, counters=counters)
        self._health.listen(self._plugins.refresh)
        self._driver = OpenDriver(source, counters=counters)

    @property
    def health(self) -> HealthBook:
        """What is known of the devices' health."""
        return self._health.book

    @property
    def inventory(self) -> Inventory | None:
        """What was served last; None before the first time."""
        return self._managed

    def served(self) -> tuple[tuple[Resource, Check], ...]:
        """Return every resource, and whether the kubelet follows its list."""
        return self._plugins.standing()

    def stuck(self) -> tuple[StuckCall, ...]:
        """Return the calls into the driver that have not returned in time; any thread may ask."""
        return self._driver.stuck()

    def count(self) -> None:
        """Set the numbers that tell how things are now; any thread may ask for it."""
        self._plugins.count()

    def read(self, config: Config) -> Inventory:
        """Read the node's GPUs, through the driver that a config names. Raises HardwareError."""
        return self._driver.read(config)

    def obey(self, config: Config, rules: HealthRules) -> None:
        """Go by this config from now on; what is served changes with the next `serve`."""
        self._config = config
        self._health.rules(rules)
        if not rules.checks:
            self._driver.unwatch()

    def serve(self, inventory: Inventory, config: Config, rules: HealthRules) -> tuple[bool, tuple[str, ...]]:
        """Serve what was read as a config asks; return whether there is anything to serve, and warnings.

        Raises SuiteError, and goes on serving as before, when the GPUs cannot be served so. Devices that are gone are
        unhealthy even then, unless it was another config that asked.
        """
        managed = without_unmanaged(inventory, config.devices)
        try:
            plan = plan_node(managed, config)
            provisions = provide(managed, config, self._settings, self._source, self._directories.cdi)
        except SuiteError:
            if config is self._config:
                self._know(managed)
            raise
        self.obey(config, rules)
        self._know(managed)
        self._mps.follow(plan.daemons)
        links = links_by_uuid(managed)
        self._plugins.apply(
            {
                resource.name: Serving(resource=resource, links=links, rules=provisions.rules)
                for resource in plan.resources
            }
        )
        return bool(plan.resources), plan.warnings + provisions.warnings

    def _know(self, managed: Inventory) -> None:
        """Take note of what there is, and have it watched."""
        self._managed = managed
        self._health.inventory(managed)
        if self._health.book.rules.checks:
            self._driver.watch(self._health, probe_interval=self._config.health.probe_interval.period)

    def lose(self, error: HardwareError) -> None:
        """Take note that the driver does not answer: what is served is unhealthy, and the driver is opened anew."""
        fault = Fault(call=error.call, code=error.code) if isinstance(error, NvmlCallError) else _NO_DRIVER
        # First, since letting go of a driver takes its time; and again, for what was told meanwhile.
        self._health.unwatched(fault)
        self._driver.close()
        self._health.unwatched(fault)

    def kubelet_changed(self) -> None:
        """Let every resource look at the kubelet's socket and its own."""
        self._plugins.kubelet_changed()

    def stop(self) -> None:
        """Stop serving and let go of the driver."""
        self._plugins.stop()
        self._mps.stop()
        self._driver.stop()


_NO_DRIVER = Fault(call="Init", code="LIBRARY_NOT_FOUND")
