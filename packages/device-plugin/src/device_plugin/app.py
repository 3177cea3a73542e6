"""The device plugin as a program: when it reads the GPUs and its config, and what it makes of failures."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable

from device_plugin.metrics import CONFIG_LOADS, CONFIG_REFUSED, SCAN_FAILURES, SCANS
from device_plugin.plan import check_any_usable, health_rules
from device_plugin.served_node import Directories, ServedNode
from device_plugin.status.standing import Standing
from gpu_core.config.load import Loaded
from gpu_core.config.programs.device_plugin import PluginSettings
from gpu_core.devices.filter import report
from gpu_core.devices.model import Inventory
from gpu_core.errors import HardwareError, SuiteError
from gpu_core.hardware.node_health import Observer
from gpu_core.hardware.source import NodeSource
from gpu_core.health.book import HealthRules
from gpu_core.resources.mig import mig_patterns
from gpu_core.runtime.config_in_use import ConfigInUse
from gpu_core.runtime.counters import Counters
from gpu_core.runtime.logs import get_logger
from gpu_core.runtime.once import Once
from gpu_core.runtime.pause import Pause, Retry
from gpu_core.runtime.supervise import Actions

_UNREAD = Pause(first=1.0, longest=60.0)
"""Between two looks at GPUs that could not be read."""


class App:
    """Reads the node's GPUs when it is time to, and its config when it is asked to.

    One thread uses it: `start`, then `act` as often as events or the time ask for it, at last `stop`. A config that
    cannot be used while running changes nothing. `config_problem` tells why its file cannot be read, if so.
    """

    def __init__(
        self,
        loaded: Loaded[PluginSettings],
        source: NodeSource,
        directories: Directories,
        *,
        counters: Counters,
        observers: Iterable[Observer] = (),
        config_problem: Callable[[], str] = lambda: "",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._config = ConfigInUse(
            loaded, counters=counters, loads=CONFIG_LOADS, refusing=CONFIG_REFUSED, problem=config_problem
        )
        self._counters = counters
        self._clock = clock
        self._log = get_logger()
        # What a look at the node shows holds until a look shows it no more.
        self._about_node = Once(self._log.warning)
        self._lost = Retry(pause=_UNREAD)
        self._failure = ""
        self._due = clock()
        self._incomplete = Retry(pause=_UNREAD)
        self._rules, self._health_warnings = _rules(loaded)
        self.node = ServedNode(
            source,
            directories,
            loaded.settings,
            loaded.config,
            self._rules,
            counters=counters,
            observers=observers,
            clock=clock,
        )

    def start(self) -> None:
        """Read and serve for the first time. Raises SuiteError when that fails and the config says to end then."""
        inventory, failure = self._read()
        loaded = self._config.loaded
        self._config.tell(loaded, mig_patterns(inventory, loaded.config))
        loaded.raise_refused()
        self._config.warn(loaded.warnings + self._health_warnings)
        ends = loaded.config.flags.fail_on_init_error
        if inventory is None:
            if failure is not None and ends:
                raise failure
            self._lose(failure)
            return
        if ends:
            check_any_usable(inventory)
        self._serve(inventory)

    def act(self, actions: Actions) -> float | None:
        """Do what is asked for or due; return in how many seconds there may be more to do, None for never."""
        if actions.stop:
            self._log.info("Stopping", reason=", ".join(actions.stop))
            return None
        if actions.reload:
            self._reload(actions.reload)
        elif actions.rescan or self._clock() >= self._due:
            self._scan()
        return self.wait()

    def standing(self) -> Standing:
        """Return where the plugin stands; any thread may ask."""
        node = self.node
        return Standing(
            config=self._config.state(),
            book=node.health,
            inventory=node.inventory,
            served=node.served(),
            failure=self._failure,
            stuck=node.stuck(),
        )

    def wait(self) -> float | None:
        """Return in how many seconds there is something to do; None for never."""
        return None if math.isinf(self._due) else max(0.0, self._due - self._clock())

    def stop(self) -> None:
        """Stop serving and let go of the driver."""
        self.node.stop()

    def _scan(self) -> None:
        inventory, failure = self._read()
        if inventory is None:
            self._lose(failure)
            return
        try:
            self._serve(inventory)
        except SuiteError as error:
            # As while GPUs are being partitioned anew: the next scan may find them whole.
            self._counters.add(SCAN_FAILURES)
            self._failure = str(error)
            self._about_node(f"What is served stays as it was: {error}")
            self._schedule()

    def _read(self, loaded: Loaded[PluginSettings] | None = None) -> tuple[Inventory | None, HardwareError | None]:
        self._counters.add(SCANS)
        self._about_node.next_pass()
        try:
            return self.node.read((loaded or self._config.loaded).config), None
        except HardwareError as error:
            return None, error

    def _serve(self, inventory: Inventory) -> None:
        self._count_unread(inventory)
        self._served(inventory, *self.node.serve(inventory, self._config.loaded.config, self._rules))

    def _served(self, inventory: Inventory, served: bool, warnings: Iterable[str]) -> None:
        self._failure = ""
        if self._lost.failures:
            self._lost.succeeded()
            self._log.info("The driver answers")
        filtered = report(inventory, self._config.loaded.config.devices)
        if filtered.note:
            self._about_node(filtered.note, say=self._log.info)
        if not served:
            found = bool(inventory.gpus or inventory.unreadable)
            warnings = (*warnings, _ALL_LEFT_OUT if filtered.empties else _NONE_OFFERS if found else _NOTHING)
        self._about_node.all((*filter(None, [filtered.warning]), *warnings))
        self._schedule()

    def _lose(self, failure: HardwareError | None) -> None:
        self._counters.add(SCAN_FAILURES)
        if failure is not None:
            self._failure = str(failure)
            self._about_node(f"{failure} Looking again, less and less often, until the driver answers.")
            self.node.lose(failure)
        self._due = self._clock() + self._lost.failed()

    def _schedule(self) -> None:
        interval = self._config.loaded.config.flags.plugin.rescan_interval
        never = interval.seconds <= 0 or interval.is_infinite
        wait = math.inf if never else interval.period
        if self._incomplete.failures:
            # Sooner, since a driver that was slow may answer now, and less and less often, since a GPU may be broken.
            wait = min(wait, _UNREAD.after(self._incomplete.failures - 1))
        self._due = self._clock() + wait

    def _reload(self, reasons: tuple[str, ...]) -> None:
        before = self._config.loaded
        fresh = self._config.reload(reasons)
        if fresh is None:
            self._scan()
            return
        try:
            fresh.raise_refused()
            if fresh.config == before.config:
                # Nothing is done differently; but the file has another name, digest or warnings.
                self._config.accept(fresh, result="unchanged")
                self._config.warn(fresh.warnings)
                self._scan()
                return
            inventory, failure = self._read(fresh)
            self._config.tell(fresh, mig_patterns(inventory, fresh.config))
            rules, health_warnings = _rules(fresh)
            if inventory is None:
                self.node.obey(fresh.config, rules)
            else:
                self._count_unread(inventory)
                outcome = self.node.serve(inventory, fresh.config, rules)
        except SuiteError as error:
            self._config.refuse(error)
            # The driver may have been opened as the new one asked.
            self._scan()
            return
        self._rules = rules
        self._config.accept(fresh)
        if inventory is None:
            self._lose(failure)
        else:
            self._served(inventory, *outcome)
        self._config.warn(fresh.warnings + health_warnings)

    def _count_unread(self, inventory: Inventory) -> None:
        """Take note of what did not answer in full."""
        complete = not inventory.unreadable and all(gpu.complete for gpu in inventory.gpus)
        if complete:
            self._incomplete.succeeded()
        else:
            self._incomplete.failed()


_ALL_LEFT_OUT = (
    "There is no GPU to serve, since `devices.include` and `devices.exclude` leave out all of this node's. Nothing is "
    "registered with the kubelet until they let one through."
)
_NONE_OFFERS = (
    "There is nothing to serve, as none of this node's GPUs offers a device. Nothing is registered with the kubelet "
    "until one does."
)
_NOTHING = (
    "There is no GPU to serve. Waiting indefinitely for one to appear; nothing is registered with the kubelet until "
    "then. If this is no GPU node, keep the plugin off it with a node selector."
)


def _rules(loaded: Loaded[PluginSettings]) -> tuple[HealthRules, tuple[str, ...]]:
    settings = loaded.settings
    return health_rules(loaded.config, disable=settings.disable_healthchecks, enable=settings.enable_healthchecks)
