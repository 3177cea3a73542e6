"""config-manager as a process: its signals, the API server, the watches, the loop, and the end."""

from __future__ import annotations

import os
import queue
import random
import signal
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from config_manager.agenda import SETTLE, Agenda
from config_manager.choose import Rules
from config_manager.loop import Crashed, Event, FilesChanged, Loop
from config_manager.report import Log, Reporter
from config_manager.standing import checks, view
from config_manager.switch import Switch, Task
from config_manager.watch import NodeWatch
from gpu_cluster import Backoff, Cluster, connect
from gpu_cluster.node.events import NodeEvents
from gpu_core.config.load import Loaded
from gpu_core.config.programs.config_manager import ConfigManagerSettings
from gpu_core.errors import UsageError
from gpu_core.passing import clear_up
from gpu_core.runtime import logs
from gpu_core.runtime.build import version
from gpu_core.runtime.counters import Counters
from gpu_core.runtime.file_watch import DirectoriesWatch, directories_to
from gpu_core.runtime.probes import Pulse
from gpu_core.runtime.signals import signals_to
from gpu_core.web.endpoints import Endpoints, answering
from gpu_core.web.program import ProgramView, program_document, program_page

PATIENCE = 30.0
"""How many seconds a process to signal is looked for."""

USER_AGENT = "k8s-gpu-suite/config-manager"


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What a run depends on besides its settings, so that a test can give its own. Times are seconds."""

    environ: Mapping[str, str]
    proc: Path = Path("/proc")
    clock: Callable[[], float] = time.monotonic
    chance: Callable[[], float] = random.random
    kill: Callable[[int, int], object] = os.kill
    settle: float = SETTLE
    patience: float = PATIENCE
    first_pause: float = 0.8


def task_of(settings: ConfigManagerSettings, surroundings: Surroundings) -> Task:
    """Return what the settings ask for. Several programs may be named, separated by commas.

    Raises UsageError for a signal that does not exist.
    """
    if settings.signal not in signal.valid_signals():
        raise UsageError(f"--signal: {settings.signal} is no signal. Give a number such as 1 for SIGHUP.")
    programs = tuple(name for name in (part.strip() for part in settings.process_to_signal.split(",")) if name)
    return Task(
        rules=Rules(label=settings.node_label, default=settings.default_config, fallbacks=settings.fallback_strategies),
        directory=Path(os.path.abspath(settings.config_file_srcdir)),  # noqa: PTH100  keeps links as they are
        link=Path(settings.config_file_dst),
        programs=programs if settings.send_signal else (),
        signal=settings.signal,
        checked=not settings.skip_config_check,
        proc=surroundings.proc,
        patience=surroundings.patience,
    )


def run(loaded: Loaded[ConfigManagerSettings]) -> int:
    """Follow the node's label until a signal ends it, or act on it once."""
    settings = loaded.settings
    logs.configure_by(settings)
    log = logs.get_logger()
    manager = ConfigManager(settings, Surroundings(environ=loaded.environ), log=log, counters=Counters())
    # Signals first: what follows takes its time, and logs.
    with signals_to(manager.events):
        for warning in loaded.warnings:
            log.warning("configuration", problem=warning)
        manager.run()
    return 0


class ConfigManager:
    """One run of the program. A Stop put into `events`, by a signal handler or another thread, ends it."""

    def __init__(
        self,
        settings: ConfigManagerSettings,
        surroundings: Surroundings,
        *,
        log: Log,
        counters: Counters,
    ) -> None:
        self._settings = settings
        self._surroundings = surroundings
        self._log = log
        self._counters = counters
        self.events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self.http_port: int | None = None
        """Where HTTP requests are answered while it runs, None where nobody asked for that."""

    def run(self) -> None:
        """Run until the end, or once. Raises SuiteError for what cannot be waited for."""
        settings, around = self._settings, self._surroundings
        cluster = connect(
            kubeconfig=settings.kubeconfig,
            qps=settings.kube_api_qps,
            burst=settings.kube_api_burst,
            environ=around.environ,
            user_agent=USER_AGENT,
        )
        task = task_of(settings, around)
        files = DirectoriesWatch(lambda: _watched(task), lambda: self.events.put(FilesChanged()))
        nodes = self._node_watch(cluster)
        thread = threading.Thread(target=self._follow, args=(nodes,), name="node-watch", daemon=True)
        poster = self._poster(cluster)
        reporter = Reporter(self._log, self._counters, poster, label=settings.node_label)
        pulse = Pulse(around.clock)
        loop = Loop(
            Switch(task, kill=around.kill),
            self.events,
            reporter,
            agenda=Agenda(settle=around.settle),
            clock=around.clock,
            pulse=pulse,
            programs=settings.process_to_signal,
            once=settings.oneshot,
        )
        clear_up((task.link.parent,), self._log.info)
        with answering(settings.metrics_address, self._endpoints(reporter, pulse)) as self.http_port:
            files.start()
            thread.start()
            try:
                loop.run()
            finally:
                nodes.stop()
                files.stop()
                if poster is not None:
                    poster.close()
                cluster.close()

    def _endpoints(self, reporter: Reporter, pulse: Pulse) -> Endpoints:
        def shown() -> ProgramView:
            return view(reporter.standing, node=self._settings.node_name, version=version(), now=time.time())

        return Endpoints(
            program="config-manager",
            counters=self._counters,
            pulse=pulse,
            ready=lambda: checks(reporter.standing),
            page=lambda: program_page(shown()),
            document=lambda: program_document(shown()),
        )

    def _poster(self, cluster: Cluster) -> NodeEvents | None:
        if not self._settings.node_events:
            return None
        return NodeEvents(
            cluster,
            node=self._settings.node_name,
            component="config-manager",
            failed=lambda problem: self._log.warning("an Event was not posted", problem=problem),
            counters=self._counters,
        )

    def _follow(self, nodes: NodeWatch) -> None:
        try:
            nodes.run()
        except Exception as error:  # noqa: BLE001  told to the loop, which ends the program with it
            self.events.put(Crashed(error=error))

    def _node_watch(self, cluster: Cluster) -> NodeWatch:
        around = self._surroundings
        return NodeWatch(
            cluster,
            node=self._settings.node_name,
            label=self._settings.node_label,
            report=self.events.put,
            backoff=Backoff(chance=around.chance, first=around.first_pause),
            clock=around.clock,
            # Watches of a whole cluster that ended at the same time would come back at the same time.
            watch_timeout=lambda: 300.0 + 300.0 * around.chance(),
        )


def _watched(task: Task) -> tuple[Path, ...]:
    """Return the directories whose changes matter: the configs, what their links go through, and the link's place."""
    return tuple(
        dict.fromkeys([*directories_to(task.directory / "..data" / "any"), task.directory, *directories_to(task.link)])
    )
