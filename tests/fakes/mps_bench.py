"""The daemon's app on a simulated node and a shared directory of its own, with a clock that only the test moves."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from fakes.mps_tools import MpsTools, is_running
from fakes.patience import PATIENCE
from gpu_core.config.load import load
from gpu_core.config.programs.mps_control_daemon import MPS_CONTROL_DAEMON
from gpu_core.devices.driver_threads import DriverThreads
from gpu_core.hardware.source import node_source
from gpu_core.mps import DaemonPlan, MpsRoot, SharedGpu
from gpu_core.runtime.counters import Counters, Metric
from gpu_core.runtime.logs import configure
from gpu_core.runtime.process import Completed
from gpu_core.runtime.supervise import Actions
from mps_control_daemon.app import App
from mps_control_daemon.commands import Command
from mps_control_daemon.interruption import Interruption
from mps_control_daemon.machine import Grace, Machine, Run, running_commands

PROGRAM = Path(sys.executable).parent / "mps-control-daemon"
IDLE = Actions()
RELOAD = Actions(reload=("SIGHUP",))
LONG = 1000.0
"""Seconds that is waited for what does not hang: longer than a test may take."""
HANGING = 0.2
"""Seconds that is waited for one that does."""
PATIENT = Grace(quit=LONG, terminate=LONG, give_up=LONG, restore=LONG)
HASTY = Grace(quit=HANGING, terminate=2 * HANGING, give_up=LONG, restore=LONG)
"""For daemons that do not end by themselves; what SIGKILL ends may take long on a busy machine."""
NODE = """
gpus:
  - {name: NVIDIA L40S, uuid: GPU-0, memory: 40000, compute_capability: "8.9"}
  - {name: NVIDIA A10, uuid: GPU-1, memory: 20000, compute_capability: "8.6"}
"""

PLAN = DaemonPlan(
    resource="nvidia.com/gpu",
    gpus=(SharedGpu(uuid="GPU-0", memory_limit=10_000), SharedGpu(uuid="GPU-1", memory_limit=5_000)),
    replicas=4,
    active_thread_percentage=25.0,
)
LIMITS = [
    "set_default_device_pinned_mem_limit 0 10000M",
    "set_default_device_pinned_mem_limit 1 5000M",
    "set_default_active_thread_percentage 25",
]
"""What NODE needs with the config of `sharing()`."""


def sharing(replicas: int = 4, **more: Any) -> dict[str, Any]:
    """Return a config that shares every GPU."""
    entry = {"name": "nvidia.com/gpu", "replicas": replicas, **more}
    return {"version": "v1", "sharing": {"mps": {"resources": [entry]}}}


def two_resources(l40s: int = 4, a10: int = 2) -> dict[str, Any]:
    """Return a config with a resource for each of the node's models."""
    return {
        "version": "v1",
        "flags": {"customResources": True},
        "resources": {
            "gpus": [{"pattern": "*L40S", "name": "nvidia.com/l40s"}, {"pattern": "*", "name": "nvidia.com/a10"}]
        },
        "sharing": {
            "mps": {
                "resources": [
                    {"name": "nvidia.com/l40s", "replicas": l40s},
                    {"name": "nvidia.com/a10", "replicas": a10},
                ]
            }
        },
    }


class Bench:
    """One node. `start` makes an app, also one after a crash of the app before, which knows nothing of it."""

    def __init__(self, tmp_path: Path, tools: MpsTools, config: dict[str, Any] | None = None, node: str = NODE) -> None:
        self.tools = tools
        self.log = io.StringIO()
        configure(json=True, stream=self.log)
        self.time = 0.0
        self.directory = tmp_path / "mps"
        self.directory.mkdir()
        self.root = MpsRoot(str(self.directory))
        self.node = tmp_path / "node.yaml"
        self.node.write_text(node)
        self.happenings = tmp_path / "events"
        self.happenings.touch()
        self.config_file = tmp_path / "config.yaml"
        self.configure(config or sharing())
        self.program = MPS_CONTROL_DAEMON
        self.counters = Counters()
        self.output = ""
        # A busy machine must not be taken for a daemon that hangs.
        self.grace = PATIENT
        self.proc = Path("/proc")
        # Which commands are known to hang: only for these it would be a pity to wait long.
        self.hangs: Callable[[Command], bool] = lambda _: False
        self.interruption = Interruption()
        self.threads = DriverThreads(deadline=LONG)

    def configure(self, config: dict[str, Any] | str) -> None:
        self.config_file.write_text(config if isinstance(config, str) else yaml.safe_dump(config))

    def start(self, *argv: str) -> App:
        loaded = load(
            self.program,
            [
                f"--simulated-node={self.node}",
                f"--simulated-events={self.happenings}",
                f"--mps-root-ctr={self.directory}",
                f"--config-file={self.config_file}",
                *argv,
            ],
            {},
        )
        self.interruption, self.threads = Interruption(), DriverThreads(deadline=LONG)
        machine = Machine(
            run=self._running(),
            interruption=self.interruption,
            grace=self.grace,
            sys=self.directory / "no-sys",
            proc=self.proc,
        )
        return App(
            loaded,
            node_source(loaded.settings.simulated_node, loaded.settings.simulated_events, threads=self.threads),
            machine,
            counters=self.counters,
            write=self._write,
            clock=lambda: self.time,
        )

    def happens(self, line: str) -> None:
        """Let something happen to the simulated node."""
        with self.happenings.open("a") as stream:
            stream.write(line + "\n")

    def tell_to_end(self) -> None:
        """Do what a signal does, except to put the event."""
        self.interruption.tell()
        self.threads.abandon()

    def after(self, seconds: float) -> None:
        self.time += seconds

    @property
    def ready(self) -> str | None:
        """What the readiness file says; None without one."""
        file = Path(self.root.ready)
        return file.read_text() if file.exists() else None

    def logged(self, *, level: str = "") -> list[dict[str, Any]]:
        lines = [json.loads(line) for line in self.log.getvalue().splitlines()]
        return [line for line in lines if not level or line["level"] == level]

    def count(self, metric: Metric) -> float:
        return sum(sample.value for sample in self.counters.snapshot() if sample.metric == metric)

    def _running(self) -> Run:
        run = running_commands(self.interruption)

        def run_patiently(command: Command, _within: float) -> Completed:
            return run(command, HANGING if self.hangs(command) else LONG)

        return run_patiently

    def _write(self, text: str) -> None:
        self.output += text


def eventually(condition: Callable[[], bool]) -> None:
    """Wait until something is so."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "it does not come true"
        time.sleep(0.02)


def kill(pid: int) -> None:
    """End a daemon as nothing else can, and wait for that."""
    os.kill(pid, signal.SIGKILL)
    eventually(lambda: not is_running(pid))


def command(bench: Bench, *argv: str) -> list[str]:
    """Return the command line of the program on the same node."""
    return [
        str(PROGRAM),
        f"--simulated-node={bench.node}",
        f"--mps-root-ctr={bench.directory}",
        f"--config-file={bench.config_file}",
        *argv,
    ]


@contextmanager
def program(bench: Bench) -> Iterator[subprocess.Popen[bytes]]:
    """Run the program itself on the same node; its standard output goes to a file `output`."""
    output = bench.config_file.with_name("output")
    with output.open("ab") as stream:
        process = subprocess.Popen(command(bench), stdout=stream, stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
