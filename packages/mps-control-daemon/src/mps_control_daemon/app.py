"""The MPS control daemon as a program: when it reads the GPUs and its config, and what it makes of failures."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from gpu_core.config.load import Loaded
from gpu_core.config.programs.mps_control_daemon import MpsSettings
from gpu_core.config.words import SharingStrategy
from gpu_core.devices.filter import apply as without_unmanaged
from gpu_core.devices.filter import report
from gpu_core.devices.model import Inventory, Platform
from gpu_core.errors import Ending, HardwareError, MpsError, SuiteError
from gpu_core.hardware.reader import Reader
from gpu_core.hardware.source import NodeSource
from gpu_core.mps import MpsRoot, plan_daemons, unlimited_gpus
from gpu_core.passing import clear_up
from gpu_core.resources.device_map import build_resources
from gpu_core.resources.mig import mig_patterns
from gpu_core.runtime.config_in_use import ConfigInUse, config_changes_to
from gpu_core.runtime.counters import Counters
from gpu_core.runtime.logs import get_logger
from gpu_core.runtime.once import Once
from gpu_core.runtime.pause import Pause, Retry
from gpu_core.runtime.probes import Check, Checks
from gpu_core.runtime.supervise import Actions, EventQueue
from mps_control_daemon.fleet import Fleet
from mps_control_daemon.machine import Machine
from mps_control_daemon.metrics import CONFIG_LOADS, READ_FAILURES

LOOK = 1.0
"""Seconds between two looks at the daemons' processes and logs."""

RESCAN = 60.0
"""Seconds between two looks at the GPUs."""

_GPUS = "GPUs"
"""What is said of the node's GPUs; the last of it is shown to probes."""

_FILTER, _NO_MATCH = "filter", "a filter that matches nothing"
"""What is said of the GPUs that the config leaves out."""

_UNREAD = Pause(first=1.0, longest=RESCAN)
"""Between two looks at GPUs that could not be read."""


@contextmanager
def running(
    loaded: Loaded[MpsSettings], source: NodeSource, machine: Machine, events: EventQueue, counters: Counters
) -> Iterator[App]:
    """Give an app with its watches, and leave nothing running behind. Raises SuiteError."""
    with ExitStack() as stack:
        file = config_changes_to(events, loaded.settings.config_file, loaded.config_text_digest)
        app = App(loaded, source, machine, counters=counters, write=_to_stdout, config_checks=file.checks)
        stack.callback(app.stop)
        stack.enter_context(file.running())
        yield app


class App:
    """Keeps the daemons that the config asks for running. One thread uses it: `act` again and again, at last `stop`.

    `write` is given what the daemons log. `config_checks` tells what there is to know of the config file. A config that
    cannot be used while running changes nothing.
    """

    def __init__(
        self,
        loaded: Loaded[MpsSettings],
        source: NodeSource,
        machine: Machine,
        *,
        counters: Counters,
        write: Callable[[str], object],
        config_checks: Checks = lambda: (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._config_checks = config_checks
        self._counters = counters
        self._clock = clock
        self._log = get_logger()
        root = MpsRoot(loaded.settings.mps_root_ctr)
        if not Path(root.path).is_dir():
            raise MpsError(f"{root.path} is no directory. Mount the host's MPS directory there.")
        clear_up((Path(root.path), *Path(root.path).glob("*/*")), self._log.info)
        self._fleet = Fleet(root, machine, write=write, counters=counters, clock=clock)
        self._interruption = machine.interruption
        self._reader = Reader(source)
        self._config = ConfigInUse(loaded, counters=counters, loads=CONFIG_LOADS)
        # What is to be used as soon as the GPUs can be read.
        self._candidate: Loaded[MpsSettings] | None = loaded
        self._running = False
        self._unread = Retry(pause=_UNREAD)
        self._due = clock()
        self._once = Once(self._log.warning)
        self._told_of: Loaded[MpsSettings] | None = None

    def act(self, actions: Actions) -> float | None:
        """Do what is asked for or due; return in how many seconds there is more to do. Raises SuiteError."""
        if actions.stop:
            self._log.info("Stopping", reason=", ".join(actions.stop))
            return None
        try:
            return self._act(actions)
        except Ending:
            # What it is told by is about to come.
            return 0.0

    def _act(self, actions: Actions) -> float | None:
        if actions.reload:
            self._reload(actions.reload)
        if actions.rescan or self._clock() >= self._due:
            self._scan()
        self._fleet.step()
        wait = max(0.0, self._due - self._clock())
        if self._fleet.empty:
            return None if math.isinf(wait) else wait
        return min(wait, LOOK)

    @property
    def loaded(self) -> Loaded[MpsSettings]:
        """The configuration in use."""
        return self._config.loaded

    def checks(self) -> tuple[Check, ...]:
        """Return what it takes to be ready, which is what the readiness file stands for; any thread may ask.

        Where nothing is to be shared, being there is enough.
        """
        config = self._config_checks()
        daemons = self._fleet.checks()
        if daemons:
            return (*daemons, *config)
        ok = self._running and not self._unread.failures
        reason = self._once.last(_GPUS) or "the node's GPUs are being read for the first time"
        return (Check(name="MPS", ok=ok, reason=reason), *config)

    def stop(self) -> None:
        """Stop every daemon, whatever was going on; nothing interrupts that."""
        self._interruption.begin_end()
        self._fleet.stop()

    def _reload(self, reasons: tuple[str, ...]) -> None:
        fresh = self._config.reload(reasons)
        if fresh is not None:
            self._candidate, self._due = fresh, self._clock()

    def _scan(self) -> None:
        """Read the GPUs, and run what they and the config ask for. Raises SuiteError for a first config of no use."""
        candidate = self._candidate
        loaded = candidate or self._config.loaded
        inventory = self._read(loaded)
        if candidate is not None:
            self._tell_config(candidate, inventory)
        try:
            if candidate is not None:
                candidate.raise_refused()
            if not self._apply(loaded, inventory, strictly=candidate is not None):
                return
        except SuiteError as error:
            if not self._running:
                raise
            self._refuse(error)
            return
        self._running = True
        if candidate is not None:
            self._config.accept(candidate)
            self._candidate = None

    def _read(self, loaded: Loaded[MpsSettings]) -> Inventory | None:
        """Read the GPUs that are managed, and see when to read them next; None when that fails."""
        try:
            inventory = self._reader.read(loaded.config)
        except HardwareError as error:
            self._counters.add(READ_FAILURES)
            self._due = self._clock() + self._unread.failed()
            if loaded.config.sharing.strategy is SharingStrategy.MPS:
                self._once(f"Waiting for the GPUs, which cannot be read: {error}", topic=_GPUS)
            return None
        self._unread.succeeded()
        self._due = self._clock() + RESCAN
        if loaded.config.sharing.strategy is SharingStrategy.MPS:
            filtered = report(inventory, loaded.config.devices)
            self._once(filtered.note, topic=_FILTER, say=self._log.info)
            self._once(filtered.warning, topic=_NO_MATCH)
        return without_unmanaged(inventory, loaded.config.devices)

    def _apply(self, loaded: Loaded[MpsSettings], inventory: Inventory | None, *, strictly: bool) -> bool:
        """Run what a config asks for; return whether that is known. Raises SuiteError where it is impossible."""
        if loaded.config.sharing.strategy is not SharingStrategy.MPS:
            self._due = math.inf
            self._fleet.apply((), lost=(), strictly=True)
            self._once("Nothing is shared through MPS; waiting for another config", topic=_GPUS, say=self._log.info)
            return True
        if inventory is None:
            return False
        resources, warnings = build_resources(inventory, loaded.config)
        plans = plan_daemons(resources, loaded.config)
        if plans and inventory.platform is not Platform.NVML:
            raise MpsError(
                f"{plans[0].resource} cannot be shared through MPS: on this platform ({inventory.platform}) GPUs have "
                "no UUIDs by which a daemon could be given its own. Use time slicing."
            )
        lost = {gpu.uuid for gpu in inventory.gpus if not gpu.usable}
        self._fleet.apply(plans, lost=lost, strictly=strictly)
        warnings += tuple(
            f"The memory size of {uuid} is unknown, so that MPS sets no limit on its clients' memory."
            for uuid in unlimited_gpus(resources, plans)
        )
        if plans or warnings:
            self._once(" ".join(warnings), topic=_GPUS)
        else:
            message = "No GPU of this node is shared through MPS; waiting for some"
            self._once(message, topic=_GPUS, say=self._log.info)
        return True

    def _tell_config(self, loaded: Loaded[MpsSettings], inventory: Inventory | None) -> None:
        if self._told_of is loaded:
            return
        self._told_of = loaded
        self._config.tell(loaded, mig_patterns(inventory, loaded.config))
        for warning in loaded.warnings:
            self._log.warning(warning)

    def _refuse(self, error: SuiteError) -> None:
        """Take note that the running config and daemons stay."""
        if self._candidate is not None:
            self._candidate = None
            self._config.refuse(error)
        else:
            self._once(f"The MPS control daemons stay as they are: {error}", topic=_GPUS)


def _to_stdout(text: str) -> None:
    # As for our own log, nobody waits until it is read.
    sys.stdout.write(text)
    sys.stdout.flush()
