"""All four programs, each ready to be started as a process on one simulated node, and how one sees that it works."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fakes.api_server import ApiServer
from fakes.kubeconfig import write_kubeconfig
from fakes.patience import PATIENCE
from gpu_demo.kubelet import Kubelet, Listed

PROGRAMS = ("nvidia-device-plugin", "gfd", "config-manager", "mps-control-daemon")

_BIN = Path(sys.executable).parent
_NODE = "--simulated-node=t4"


def eventually(condition: Callable[[], object], what: str = "it never came true") -> None:
    """Wait until a condition is true."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.02)


class EveryProgram:
    """A node with a kubelet and an API server, below a directory with a short path."""

    def __init__(self, directory: Path, kubelet: Kubelet, server: ApiServer) -> None:
        self.kubelet = kubelet
        self.labels = directory / "labels"
        self.link = directory / "config.yaml"
        self.mps = directory / "mps"
        self.mps.mkdir()
        configs = directory / "configs"
        configs.mkdir()
        (configs / "a").write_text("version: v1\n", "utf-8")
        server.put_node("node-a", labels={"nvidia.com/device-plugin.config": "a"})
        kubeconfig = write_kubeconfig(directory / "kubeconfig", server.url)
        self._flags = {
            "nvidia-device-plugin": [
                _NODE,
                f"--kubelet-socket={kubelet.socket}",
                f"--device-plugin-dir={kubelet.directory}",
            ],
            "gfd": [_NODE, "--publish=file", f"--output-file={self.labels}"],
            "config-manager": [
                f"--kubeconfig={kubeconfig}",
                "--node-name=node-a",
                f"--config-file-srcdir={configs}",
                f"--config-file-dst={self.link}",
                "--node-label=nvidia.com/device-plugin.config",
            ],
            "mps-control-daemon": [_NODE, f"--mps-root-ctr={self.mps}"],
        }

    def command(self, program: str, *flags: str) -> list[str]:
        """Return how a program is started."""
        return [str(_BIN / program), *self._flags[program], *flags]

    def works(self, program: str) -> bool:
        """Whether a program has done its job for the first time; the MPS daemon has none here."""
        match program:
            case "nvidia-device-plugin":
                return bool(self.kubelet.log.events(Listed))
            case "gfd":
                return self.labels.exists()
            case "config-manager":
                return self.link.is_symlink()
            case _:
                return True


@contextmanager
def running(command: list[str], **streams: Any) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program, and leave nothing of it."""
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, **streams) as process:
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def every_program(directory: Path) -> Iterator[EveryProgram]:
    """Give what the programs need."""
    with Kubelet(directory / "kubelet") as kubelet, ApiServer() as server:
        yield EveryProgram(directory, kubelet, server)
