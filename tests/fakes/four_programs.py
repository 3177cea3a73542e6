"""Each of the four programs as a process at work on a node of its own, and what it must not leave behind."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from fakes.api_server import ApiServer
from fakes.configmap import ConfigMapVolume
from fakes.kubeconfig import write_kubeconfig
from fakes.mps_tools import MpsTools, is_running
from gpu_demo.kubelet import Kubelet, Listed

BIN = Path(sys.executable).parent
PROGRAMS = ("nvidia-device-plugin", "gpu-feature-discovery", "config-manager", "mps-control-daemon")

PATIENCE = 20.0
"""Seconds that an end may take on a busy machine; a program that waits for its next rescan takes up to 60."""

_STARTED = 60.0
_MPS = {"version": "v1", "sharing": {"mps": {"resources": [{"name": "nvidia.com/gpu", "replicas": 2}]}}}


@dataclass(kw_only=True)
class Bench:
    """One program's node. `at_work` tells that the program does its work, `left` what there is that should not be.

    `around` is put before the command, as by a script that starts it.
    """

    command: tuple[str, ...]
    environ: Mapping[str, str]
    at_work: Callable[[], object]
    left: Callable[[], list[str]]
    log: Path
    around: tuple[str, ...] = ()
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(self, *flags: str, **streams: int | None) -> subprocess.Popen[bytes]:
        """Start the program; its standard output and error are the log, unless other streams are given."""
        command = [*self.around, *self.command, *flags]
        with self.log.open("ab") as log:
            given: Mapping[str, Any] = {"stdout": log, "stderr": log, **streams}
            process = subprocess.Popen(command, env=self.environ, **given)
        self.processes.append(process)
        return process

    def started(self, *flags: str, **streams: int | None) -> subprocess.Popen[bytes]:
        """Start the program and wait until it does its work."""
        process = self.start(*flags, **streams)
        end = time.monotonic() + _STARTED
        while not self.at_work():
            assert process.poll() is None, self.log.read_text("utf-8")
            assert time.monotonic() < end, self.log.read_text("utf-8")
            time.sleep(0.01)
        return process

    def close(self) -> None:
        """End what is still there."""
        for process in self.processes:
            process.kill()
            process.wait()


@contextlib.contextmanager
def bench(program: str, directory: Path) -> Iterator[Bench]:
    """Give a program's node; `directory` has to have a short path, as sockets are in it."""
    with contextlib.ExitStack() as stack:
        made = _MAKE[program](directory, stack)
        stack.callback(made.close)
        yield made


def names(directory: Path) -> set[str]:
    """Return the names in a directory."""
    return {entry.name for entry in directory.iterdir()}


def grown(count: Callable[[], int]) -> Callable[[], bool]:
    """Return whether a count has grown since the program of before was at work."""
    seen = [count()]

    def asked() -> bool:
        before, seen[0] = seen[0], count()
        return seen[0] > before

    return asked


def _plugin(directory: Path, stack: contextlib.ExitStack) -> Bench:
    kubelet = stack.enter_context(Kubelet(directory / "k"))
    before = names(kubelet.directory)
    return Bench(
        command=(
            str(BIN / "nvidia-device-plugin"),
            "--simulated-node=a100x4-pcie",
            f"--kubelet-socket={kubelet.socket}",
            f"--device-plugin-dir={kubelet.directory}",
        ),
        environ={},
        at_work=grown(lambda: len(kubelet.log.events(Listed))),
        left=lambda: sorted(names(kubelet.directory) - before),
        log=directory / "log",
    )


def _gfd(directory: Path, stack: contextlib.ExitStack) -> Bench:
    features = directory / "features.d"
    features.mkdir()
    return Bench(
        command=(
            str(BIN / "gpu-feature-discovery"),
            "--simulated-node=a100x4-pcie",
            "--publish=file",
            f"--output-file={features / 'gfd'}",
            "--sleep-interval=60s",
        ),
        environ={},
        at_work=lambda: sorted(names(features)) == ["gfd"],
        left=lambda: sorted(names(features)),
        log=directory / "log",
    )


def _config_manager(directory: Path, stack: contextlib.ExitStack) -> Bench:
    server = stack.enter_context(ApiServer())
    server.put_node("a", labels={"nvidia.com/device-plugin.config": "a"})
    volume = ConfigMapVolume(directory / "available", {"a": "version: v1\n"})
    place = directory / "config"
    place.mkdir()
    return Bench(
        command=(str(BIN / "config-manager"), "--send-signal=false"),
        environ={
            "KUBECONFIG": str(write_kubeconfig(directory / "kubeconfig", server.url)),
            "NODE_NAME": "a",
            "CONFIG_FILE_SRCDIR": str(volume.path),
            "CONFIG_FILE_DST": str(place / "config.yaml"),
        },
        at_work=grown(lambda: sum(request.watch for request in server.requests)),
        # The link and the last good config stay: other programs use them.
        left=lambda: sorted(names(place) - {"config.yaml", ".config.yaml.last-good"}),
        log=directory / "log",
    )


def _mps(directory: Path, stack: contextlib.ExitStack) -> Bench:
    tools = MpsTools(directory / "bin")
    stack.callback(tools.close)
    root = directory / "mps"
    root.mkdir()
    config = directory / "config.yaml"
    config.write_text(yaml.safe_dump(_MPS), "utf-8")

    def left() -> list[str]:
        files = [str(file.relative_to(root)) for file in root.rglob("*") if file.name.startswith(".")]
        return files + [f"process {pid}" for pid in tools.pids if is_running(pid)]

    return Bench(
        command=(
            str(BIN / "mps-control-daemon"),
            "--simulated-node=t4",
            f"--mps-root-ctr={root}",
            f"--config-file={config}",
        ),
        environ={"PATH": tools.path},
        at_work=(root / ".ready").exists,
        left=left,
        log=directory / "log",
    )


_MAKE: Mapping[str, Callable[[Path, contextlib.ExitStack], Bench]] = dict(
    zip(PROGRAMS, (_plugin, _gfd, _config_manager, _mps), strict=True)
)
