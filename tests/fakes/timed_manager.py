"""config-manager's loop on real files and a clock of its own, so that hours pass in no time and pauses can be told."""

from __future__ import annotations

import heapq
import itertools
import queue
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from config_manager.agenda import Agenda
from config_manager.loop import Event, Loop
from config_manager.report import Reporter
from config_manager.serve import Surroundings, task_of
from config_manager.switch import Switch
from config_manager.watch import LabelSeen
from fakes.configmap import ConfigMapVolume
from gpu_core.config.programs.config_manager import ConfigManagerSettings
from gpu_core.runtime.counters import Counters
from gpu_core.runtime.probes import Pulse
from gpu_core.runtime.supervise import Stop

Deed = Callable[[], object]

FILES = {"a": "version: v1 # a\n", "b": "version: v1 # b\n"}
PROGRAM = "nvidia-device-plugin"


class _Times(queue.SimpleQueue[Event]):
    """A queue in which events lie at their times; waiting moves the clock."""

    def __init__(self) -> None:
        self.now = 0.0
        self._number = itertools.count()
        self._ahead: list[tuple[float, int, Event | Deed]] = []

    def at(self, time: float, what: Event | Deed) -> None:
        # What comes at the same time comes in the order in which it was laid down.
        heapq.heappush(self._ahead, (time, next(self._number), what))

    def get(self, block: bool = True, timeout: float | None = None) -> Event:
        until = float("inf") if timeout is None else self.now + timeout
        while self._ahead and self._ahead[0][0] <= until:
            time, _, what = heapq.heappop(self._ahead)
            self.now = max(self.now, time)
            if not callable(what):
                return what
            what()
        self.now = until
        raise queue.Empty


class TimedManager:
    """A config-manager that is told what happens at which second; `run` lets the time pass.

    One that comes `after` another finds on disk what that has left.
    """

    def __init__(
        self, directory: Path, files: Mapping[str, str] = FILES, *, after: TimedManager | None = None, **settings: Any
    ) -> None:
        made = ConfigMapVolume(directory / "available", files) if after is None else after.volume
        self.volume: ConfigMapVolume = made
        self.directory = directory / "config"
        self.directory.mkdir(exist_ok=True)
        self.link = self.directory / "config.yaml"
        self.proc = directory / "proc"
        self.proc.mkdir(exist_ok=True)
        self.said: list[tuple[float, str]] = []
        self.events: list[str] = []
        self.signals: list[tuple[float, int]] = []
        self.refusing: set[int] = set()
        """Processes that may not be signalled."""
        self.counters = Counters()
        self._queue = _Times()
        self._settings = ConfigManagerSettings(
            node_name="n", config_file_srcdir=str(self.volume.path), config_file_dst=str(self.link), **settings
        )
        around = Surroundings(environ={}, proc=self.proc)
        self.switch = Switch(task_of(self._settings, around), kill=self.kill)
        self.reporter = Reporter(self, self.counters, self, label=self._settings.node_label)
        self._loop = Loop(
            self.switch,
            self._queue,
            self.reporter,
            agenda=Agenda(),
            clock=lambda: self.now,
            pulse=Pulse(lambda: self.now),
            programs=self._settings.process_to_signal,
            once=False,
        )

    @property
    def now(self) -> float:
        return self._queue.now

    def at(self, time: float, *what: Event | Deed) -> None:
        """Let something happen at a second: an event that comes, or a function that is called."""
        for each in what:
            self._queue.at(time, each)

    def every(self, seconds: Iterable[float], what: Event | Deed) -> None:
        """Let something happen again and again."""
        for second in seconds:
            self.at(second, what)

    def label(self, time: float, value: str | None) -> None:
        self.at(time, LabelSeen(value=value))

    def run(self, until: float) -> None:
        """Let the time pass up to a second."""
        self.at(until, Stop("test"))
        self._loop.run()

    def start_program(self, pid: int = 4001, status: str | None = None) -> None:
        directory = self.proc / str(pid)
        directory.mkdir()
        (directory / "comm").write_text(f"{PROGRAM[:15]}\n")
        (directory / "cmdline").write_bytes(b"python3\0/usr/bin/" + PROGRAM.encode() + b"\0")
        if status is not None:
            (directory / "status").write_text(status)

    def kill(self, pid: int, number: int) -> None:
        assert number == 1
        if pid in self.refusing:
            raise PermissionError
        self.signals.append((self.now, pid))

    # What is used of a logger, and of `NodeEvents`.

    def info(self, event: str, **facts: Any) -> None:
        self.said.append((self.now, f"{event} {facts.get('config', facts.get('problem', ''))}".strip()))

    def warning(self, event: str, **facts: Any) -> None:
        self.said.append((self.now, f"WARNING {event} {facts.get('problem', '')}".strip()))

    def post(self, *, warning: bool, reason: str, message: str) -> None:
        self.events.append(reason)

    @property
    def lines(self) -> list[str]:
        """What was said, without the times."""
        return [line for _, line in self.said]

    @property
    def numbers(self) -> dict[str, float]:
        """The metrics' values by their names; of a config, whether it is named."""
        return {
            " ".join([sample.metric.name, *(value for key, value in sample.labels if key == "name")]): sample.value
            for sample in self.counters.snapshot()
        }


def gaps(times: Sequence[float]) -> list[float]:
    """Return the seconds between each of the times and the next."""
    return [round(after - before, 3) for before, after in itertools.pairwise(times)]
