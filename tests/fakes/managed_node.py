"""A node for the tests of config-manager: an API server, a mounted ConfigMap, and a program that reads its config."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from config_manager.loop import Event
from config_manager.serve import ConfigManager, Surroundings
from fakes.api_server import ApiServer
from fakes.configmap import ConfigMapVolume
from fakes.kubeconfig import write_kubeconfig
from fakes.patience import PATIENCE
from gpu_core.config.programs.config_manager import ConfigManagerSettings
from gpu_core.runtime.counters import Counters
from gpu_core.runtime.supervise import Stop

LABEL = "nvidia.com/device-plugin.config"
PROGRAM = "nvidia-device-plugin"
FILES = {"a": "version: v1 # a\n", "b": "version: v1 # b\n"}


class LogLines:
    """Keeps what is logged."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.entries: list[tuple[str, dict[str, Any]]] = []

    def info(self, event: str, **facts: Any) -> None:
        self.entries.append((event, facts))
        self.lines.append(f"{event} {facts}")

    def warning(self, event: str, **facts: Any) -> None:
        self.lines.append(f"WARNING {event} {facts}")

    def __contains__(self, part: str) -> bool:
        return any(part in line for line in self.lines)


class Program:
    """Stands for the device plugin: reads the config when it starts and at each signal.

    Its entry under a /proc of our own is real; only the signal is a call, so that it can be watched closely.
    """

    def __init__(self, proc: Path, link: Path) -> None:
        self._proc = proc
        self._link = link
        self._pid = 4000
        self.config: str | None = None
        self.signals: list[tuple[float, str | None]] = []

    def start(self) -> None:
        self._pid += 1
        directory = self._proc / str(self._pid)
        directory.mkdir()
        (directory / "comm").write_text(f"{PROGRAM[:15]}\n")
        (directory / "cmdline").write_bytes(b"python3\0/usr/bin/" + PROGRAM.encode() + b"\0")
        self._read()

    def end(self) -> None:
        directory = self._proc / str(self._pid)
        for name in ("cmdline", "comm"):
            (directory / name).unlink()
        directory.rmdir()

    def kill(self, pid: int, number: int) -> None:
        if pid != self._pid or not (self._proc / str(pid)).exists():
            raise ProcessLookupError
        assert number == 1
        self._read()
        self.signals.append((time.monotonic(), self.config))

    def _read(self) -> None:
        try:
            self.config = self._link.read_text()
        except OSError:
            self.config = None


class Node:
    """Everything together. `start` runs config-manager in a thread, `stop` ends it and raises what it raised."""

    def __init__(self, directory: Path, files: Mapping[str, str], *, patience: float = 10.0, **settings: Any) -> None:
        self.server = ApiServer()
        self.server.start()
        self.volume = ConfigMapVolume(directory / "available", files)
        (directory / "config").mkdir()
        self.link = directory / "config" / "config.yaml"
        self.proc = directory / "proc"
        self.proc.mkdir()
        self.program = Program(self.proc, self.link)
        self.log = LogLines()
        self.counters = Counters()
        self.settings = ConfigManagerSettings(
            kubeconfig=str(write_kubeconfig(directory / "kubeconfig", self.server.url)),
            kube_api_qps=0.0,
            node_name="a",
            config_file_srcdir=str(self.volume.path),
            config_file_dst=str(self.link),
            **settings,
        )
        self.surroundings = Surroundings(
            environ={},
            proc=self.proc,
            kill=self.program.kill,
            settle=0.02,
            patience=patience,
            first_pause=0.01,
            chance=lambda: 0.5,
        )
        self._app: ConfigManager | None = None
        self._thread: threading.Thread | None = None
        self._raised: BaseException | None = None

    def surroundings_with(self, **changes: Any) -> Surroundings:
        """Return the surroundings with some of them changed."""
        return replace(self.surroundings, **changes)

    def start(self, **settings: Any) -> None:
        self._app = ConfigManager(
            replace(self.settings, **settings), self.surroundings, log=self.log, counters=self.counters
        )
        self._raised = None
        self._thread = threading.Thread(target=self._run, args=(self._app,), daemon=True)
        self._thread.start()

    def _run(self, app: ConfigManager) -> None:
        try:
            app.run()
        except BaseException as error:  # noqa: BLE001  handed to the test
            self._raised = error

    def put(self, event: Event) -> None:
        """Put an event into config-manager's queue."""
        assert self._app is not None
        self._app.events.put(event)

    @property
    def http_port(self) -> int | None:
        """Where config-manager answers HTTP requests."""
        return None if self._app is None else self._app.http_port

    def wait_until(self, condition: Callable[[], object]) -> None:
        """Wait until something outside of the API server is so."""
        end = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < end
            time.sleep(0.01)

    def stop(self) -> None:
        self.put(Stop("test"))
        self.join()

    def join(self) -> None:
        """Wait until config-manager has ended by itself."""
        assert self._thread is not None
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()
        if self._raised is not None:
            raise self._raised

    def label(self, value: str | None) -> None:
        self.server.put_node("a", labels={} if value is None else {LABEL: value})

    def content(self) -> str | None:
        """Return what a program would read."""
        try:
            return self.link.read_text()
        except OSError:
            return None

    def target(self) -> str | None:
        """Return the name of what the link points to."""
        return self.link.readlink().name if self.link.is_symlink() else None

    def wait_for(self, target: str, content: str) -> None:
        """Wait until the link points to a file of that name and readers find that content."""
        self.server.wait_for(lambda: (self.target(), self.content()) == (target, content))

    def wait_told(self, content: str, signals: int) -> None:
        """Wait for so many signals in all; the program has then read that content."""
        self.server.wait_for(lambda: len(self.program.signals) >= signals)
        assert [self.program.config, len(self.program.signals)] == [content, signals]

    def close(self) -> None:
        self.server.stop()
