"""A daemon on a simulated node that a test drives step by step, with a clock that only the test moves."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from gpu_core.config.load import load
from gpu_core.config.programs.gpu_feature_discovery import GPU_FEATURE_DISCOVERY
from gpu_core.hardware.source import node_source
from gpu_core.runtime.counters import Counters
from gpu_core.runtime.logs import configure
from gpu_core.runtime.supervise import Actions, EventQueue
from gpu_feature_discovery.app import App

NODE = """
machine: Box
gpus:
  - {name: NVIDIA L40S, count: 2, memory: 46068, compute_capability: "8.9"}
"""


class Bench:
    """A daemon on a simulated node, with a clock that only the test moves."""

    def __init__(self, tmp_path: Path, *argv: str) -> None:
        self.log = io.StringIO()
        configure(json=True, stream=self.log)
        self.time = 0.0
        self.clock_is_broken = False
        self.node = tmp_path / "node.yaml"
        self.node.write_text(NODE)
        self.happenings = tmp_path / "events"
        self.happenings.touch()
        self.config = tmp_path / "config.yaml"
        self.config.touch()
        self.output = tmp_path / "gfd"
        self.events = EventQueue()
        self.counters = Counters()
        self.argv = [
            f"--simulated-node={self.node}",
            f"--simulated-events={self.happenings}",
            f"--config-file={self.config}",
            *(argv or ("--publish=file", f"--output-file={self.output}")),
        ]
        self.app = self.start()

    def start(self) -> App:
        loaded = load(GPU_FEATURE_DISCOVERY, self.argv, {})
        node, happenings = loaded.settings.simulated_node, loaded.settings.simulated_events
        # A test may write another node into the file.
        source = replace(node_source(node, happenings), open=lambda config: node_source(node, happenings).open(config))
        return App(
            loaded,
            source,
            self.events,
            clock=lambda: self.time,
            now=self.now,
            counters=self.counters,
        )

    def now(self) -> float:
        if self.clock_is_broken:
            raise OSError("no clock")
        return 1_700_000_000 + self.time

    def happen(self, line: str) -> None:
        with self.happenings.open("a") as file:
            file.write(f"{line}\n")

    def step(self, seconds: float = 0.0, **actions: Any) -> float | None:
        self.time += seconds
        return self.app.act(Actions(**actions))

    def labels(self) -> dict[str, str]:
        lines = (line.partition("=") for line in self.output.read_text().splitlines())
        return {key.removeprefix("nvidia.com/"): value for key, _, value in lines}

    def logged(self, level: str) -> list[str]:
        lines = (json.loads(line) for line in self.log.getvalue().splitlines())
        return [line["event"] for line in lines if line["level"] == level]

    def counted(self) -> dict[str, float]:
        return {
            " ".join([sample.metric.name, *(value for _, value in sample.labels)]): sample.value
            for sample in self.counters.snapshot()
        }
