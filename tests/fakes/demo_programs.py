"""The demo's programs in this process, so that every node can be shown without starting Python anew each time."""

from __future__ import annotations

import io
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

from device_plugin.serve import kubelet_sockets, running
from device_plugin.served_node import Directories
from fakes.patience import PATIENCE
from fakes.running_plugin import Log
from gpu_core.command import run_program
from gpu_core.config.load import load
from gpu_core.config.programs.device_plugin import DEVICE_PLUGIN
from gpu_core.config.programs.gpu_feature_discovery import GPU_FEATURE_DISCOVERY
from gpu_core.hardware.source import node_source
from gpu_core.mps import MpsRoot
from gpu_core.runtime.counters import Counters
from gpu_core.runtime.logs import configure
from gpu_core.runtime.supervise import EventQueue, Stop, supervise
from gpu_demo.programs import Command, Programs, Running
from gpu_feature_discovery.cli import run as label
from gpu_feature_discovery.topology import TOPOLOGY


class Hosted:
    """A plugin in a thread of this process."""

    def __init__(self, command: Command, log: Log, thread: threading.Thread, stop: Callable[[], object]) -> None:
        self.command = command
        self._log = log
        self._thread = thread
        self._stop = stop

    def check(self) -> None:
        """Fail when it has ended."""
        assert self._thread.is_alive(), self.log_tail()

    def wait_for_line(self, wanted: Callable[[Mapping[str, Any]], bool], *, timeout: float) -> Mapping[str, Any]:
        """Wait for a line of its log."""
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            for line in self._log.lines():
                if wanted(line):
                    return line
            time.sleep(0.01)
        raise TimeoutError

    def stop(self) -> int:
        """Let it end."""
        self._stop()
        return 0

    def log_tail(self) -> str:
        """Return its whole log."""
        return self._log.getvalue()


class HostedPrograms(Programs):
    """Runs gpu-feature-discovery and the plugin here. Only the main thread may use it, as with the programs."""

    def run(self, command: Command) -> str:
        """Run gpu-feature-discovery to its end and return what it printed."""
        assert command.program == "gfd"
        out = io.StringIO()
        with redirect_stdout(out):
            code = run_program(GPU_FEATURE_DISCOVERY, command.arguments, {}, label, subcommands=[TOPOLOGY])
        assert code == 0
        return out.getvalue()

    @contextmanager
    def start(self, command: Command, *, log: Path) -> Iterator[Running]:
        """Start the plugin; its log stays in memory, and what it writes goes beside where the log would be."""
        loaded = load(DEVICE_PLUGIN, command.arguments, {})
        directories = Directories(
            kubelet=kubelet_sockets(loaded.settings), cdi=log.parent / "cdi", mps=MpsRoot(str(log.parent / "mps"))
        )
        events, lines = EventQueue(), Log()
        configure(json=True, stream=lines)
        with ExitStack() as stack:
            source = node_source(loaded.settings.simulated_node, loaded.settings.simulated_events)
            app = stack.enter_context(running(loaded, source, directories, events, Counters()))
            thread = threading.Thread(target=supervise, args=(events, app.act), kwargs={"first": app.wait()})

            def stop() -> None:
                events.put(Stop("the demo ends"))
                thread.join(PATIENCE)
                assert not thread.is_alive()
                stack.close()

            thread.start()
            stack.callback(thread.join)
            stack.callback(events.put, Stop("the test ends"))
            yield Hosted(command, lines, thread, stop)
