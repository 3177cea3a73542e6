"""Runs the device plugin in this process, against a kubelet on real sockets and a simulated node."""

from __future__ import annotations

import io
import json
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from device_plugin.app import App
from device_plugin.plugin_api.phases import Patience
from device_plugin.serve import kubelet_sockets, running
from device_plugin.served_node import Directories
from fakes.patience import PATIENCE
from gpu_core.config.load import load
from gpu_core.config.programs.device_plugin import DEVICE_PLUGIN
from gpu_core.devices.simulated.files import load_node
from gpu_core.devices.simulated.node import SimulatedNode
from gpu_core.hardware.node_health import Observer
from gpu_core.hardware.source import NodeSource, simulated_source
from gpu_core.mps import MpsRoot
from gpu_core.runtime.counters import Counters, Metric
from gpu_core.runtime.logs import configure
from gpu_core.runtime.supervise import Actions, EventQueue, Reload, Rescan, Stop, supervise
from gpu_demo.kubelet import Kubelet

TOPOLOGIES = Path(__file__).parents[1] / "golden" / "topologies"


def topology(name: str) -> SimulatedNode:
    """Return a node whose answers by the original are recorded."""
    return load_node(str(TOPOLOGIES / f"{name}.yaml"))


class Log(io.StringIO):
    """The lines of a log, on which one can wait."""

    def __init__(self) -> None:
        super().__init__()
        self._written = threading.Condition()

    def write(self, text: str) -> int:
        """Take a line."""
        with self._written:
            length = super().write(text)
            self._written.notify_all()
        return length

    def lines(self) -> list[dict[str, Any]]:
        """Return the lines that were logged so far."""
        with self._written:
            return [json.loads(line) for line in self.getvalue().splitlines()]

    def count(self, part: str) -> int:
        """Return how many lines hold a text."""
        return sum(part in line for line in self.getvalue().splitlines())

    def wait_for(self, part: str, times: int = 1) -> None:
        """Wait until a text was logged so many times."""
        with self._written:
            found = self._written.wait_for(lambda: self.count(part) >= times, PATIENCE)
        assert found, f"{part!r} was not logged {times} times, but:\n{self.getvalue()}"


class Turns:
    """Lets a test wait until the plugin's loop has come to something."""

    def __init__(self, act: Callable[[Actions], float | None]) -> None:
        self._act = act
        self._seen: list[str] = []
        self._turned = threading.Condition()

    def act(self, actions: Actions) -> float | None:
        """Take a turn."""
        wait = self._act(actions)
        with self._turned:
            self._seen += [*actions.reload, *actions.rescan]
            self._turned.notify_all()
        return wait

    def wait_for(self, reason: str) -> None:
        """Wait until something that was asked for with this reason is done."""
        with self._turned:
            assert self._turned.wait_for(lambda: reason in self._seen, PATIENCE)


@dataclass(kw_only=True)
class RunningPlugin:
    """A plugin that runs in a thread of this process, with all that a test may do to it and ask of it."""

    app: App
    directory: Path
    events: EventQueue
    happenings: Path
    config_file: Path
    counters: Counters
    log: Log = field(repr=False)
    turns: Turns = field(repr=False)

    def say(self, *lines: str) -> None:
        """Let things happen to the simulated node."""
        with self.happenings.open("a", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines)

    def reload(self) -> None:
        """Ask for a reload, as SIGHUP does, and wait until it is done."""
        self._do(Reload)

    def rescan(self) -> None:
        """Ask for another look at the hardware, and wait until it is done."""
        self._do(Rescan)

    def number(self, metric: Metric, **labels: str) -> float:
        """Return one of the plugin's numbers, or their sum."""
        self.app.node.count()
        return sum(
            sample.value
            for sample in self.counters.snapshot()
            if sample.metric == metric and labels.items() <= dict(sample.labels).items()
        )

    def wait_number(self, metric: Metric, least: float, **labels: str) -> None:
        """Wait until a number is at least so large."""
        end = time.monotonic() + PATIENCE
        while self.number(metric, **labels) < least:
            assert time.monotonic() < end, f"{metric.name} {labels} is {self.number(metric, **labels)}, not {least}"
            time.sleep(0.002)

    def _do(self, kind: Callable[[str], Reload | Rescan]) -> None:
        reason = secrets.token_hex(8)
        self.events.put(kind(reason))
        self.turns.wait_for(reason)


@contextmanager
def run_plugin(
    kubelet: Kubelet | Path,
    node: SimulatedNode | NodeSource | str,
    *args: str,
    config: str | None = None,
    environ: Mapping[str, str] | None = None,
    before: Sequence[str] = (),
    patience: Patience | None = None,
    observers: Sequence[Observer] = (),
) -> Iterator[RunningPlugin]:
    """Run the plugin until the block ends.

    `kubelet` is one to register with, or a directory to serve in without registering. `node` may be the name of a
    recorded topology. `before` are things that have happened before the start, `patience` is that with the kubelet,
    `observers` hear of every change of health.
    Raises what the start raises.
    """
    directory = kubelet.directory if isinstance(kubelet, Kubelet) else kubelet
    beside = directory.parent / f"{directory.name}.d"
    beside.mkdir(exist_ok=True)
    happenings, config_file = beside / "events", beside / "config.yaml"
    happenings.write_text("".join(f"{line}\n" for line in before), "utf-8")
    socket = str(kubelet.socket) if isinstance(kubelet, Kubelet) else ""
    argv = [f"--kubelet-socket={socket}", f"--device-plugin-dir={directory}", *args]
    if config is not None:
        config_file.write_text(config, "utf-8")
        argv.append(f"--config-file={config_file}")
    loaded = load(DEVICE_PLUGIN, argv, environ or {})
    if isinstance(node, str):
        node = topology(node)
    source = simulated_source(node, happenings) if isinstance(node, SimulatedNode) else node
    directories = Directories(
        kubelet=replace(kubelet_sockets(loaded.settings), patience=patience or Patience()),
        cdi=beside / "cdi",
        mps=MpsRoot(str(beside / "mps")),
    )
    events, counters, log = EventQueue(), Counters(), Log()
    configure(json=True, stream=log)
    with ExitStack() as stack:
        app = stack.enter_context(running(loaded, source, directories, events, counters, observers=observers))
        turns = Turns(app.act)
        thread = threading.Thread(target=supervise, args=(events, turns.act), kwargs={"first": app.wait()})
        thread.start()
        stack.callback(thread.join)
        stack.callback(events.put, Stop("the test ends"))
        yield RunningPlugin(
            app=app,
            directory=directory,
            events=events,
            happenings=happenings,
            config_file=config_file,
            counters=counters,
            log=log,
            turns=turns,
        )
