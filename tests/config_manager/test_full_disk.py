"""The link's directory lies on a file system that is full: a real one, and the real program with its real watch."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fakes.api_server import ApiServer
from fakes.configmap import ConfigMapVolume
from fakes.kubeconfig import write_kubeconfig
from fakes.namespaces import unshared
from fakes.patience import PATIENCE
from gpu_core.passing import is_passing

LABEL = "nvidia.com/device-plugin.config"
FILES = {"a": "version: v1 # a\n", "b": "version: v1 # b\n"}
COMMAND = [sys.executable, "-c", "from config_manager.cli import main; main()"]

# The root directory takes one of the inodes, the fillers the others.
NO_BLOCKS = "size=64k,nr_inodes=100"
NO_INODES = "size=64k,nr_inodes=5"
FILLERS = ["filler-1", "filler-2", "filler-3", "filler-4"]

LOOKED_ON = 3.0
"""Seconds for which the program is left alone with its trouble; an attempt that wakes itself makes seven of them."""


class Manager:
    """A config-manager whose link lies on a small tmpfs of its own, which is full."""

    def __init__(self, root: Path, server: ApiServer, tmpfs: str) -> None:
        volume = ConfigMapVolume(root / "available", FILES)
        self.config = root / "config"
        self.config.mkdir()
        environ = {
            "KUBECONFIG": str(write_kubeconfig(root / "kubeconfig", server.url)),
            "NODE_NAME": "n",
            "CONFIG_FILE_SRCDIR": str(volume.path),
            "CONFIG_FILE_DST": str(self.config / "config.yaml"),
            "SEND_SIGNAL": "false",
            "NODE_EVENTS": "true",
        }
        script = (
            f"mount -t tmpfs -o {tmpfs} full {shlex.quote(str(self.config))}\n"
            f"for name in {' '.join(FILLERS)}; do\n"
            f"  head -c 1000000 /dev/zero > {shlex.quote(str(self.config))}/$name 2>/dev/null || true\n"
            "done\n"
            f"exec {shlex.join(COMMAND)}\n"
        )
        self.log = root / "log"
        with self.log.open("w") as log:
            self.process = subprocess.Popen([*unshared("mount"), "sh", "-euc", script], env=environ, stderr=log)

    def lines(self) -> list[dict[str, Any]]:
        """Return what was said so far, without when."""
        whole = [line for line in self.log.read_text().splitlines(keepends=True) if line.endswith("\n")]
        said = [json.loads(line) for line in whole if line.startswith("{")]
        return [{key: value for key, value in line.items() if key != "timestamp"} for line in said]

    def said(self, event: str) -> list[dict[str, Any]]:
        return [line for line in self.lines() if line["event"] == event]

    def inside(self) -> Path:
        """Return the link's directory as the program sees it."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return Path(f"/proc/{children[0]}/root{self.config}")

    def names(self) -> list[str]:
        """Return what lies in the directory, but for what an attempt at this moment makes and takes away."""
        return sorted(entry.name for entry in self.inside().iterdir() if not is_passing(entry.name))

    def make_room(self) -> None:
        for name in FILLERS:
            (self.inside() / name).unlink()

    def wait_for(self, condition: Callable[[], object]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not condition():
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < deadline, self.log.read_text()
            time.sleep(0.05)

    def stop(self) -> None:
        """End the program and what started it."""
        for child in Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split():
            subprocess.run(["kill", "-TERM", child], check=False)
        assert self.process.wait(PATIENCE) == 0


@pytest.fixture
def server() -> Iterator[ApiServer]:
    with ApiServer() as running:
        running.put_node("n", labels={LABEL: "a"})
        yield running


@pytest.fixture
def start(tmp_path: Path, server: ApiServer) -> Iterator[Callable[[str], Manager]]:
    made: list[Manager] = []

    def one(tmpfs: str) -> Manager:
        made.append(Manager(tmp_path, server, tmpfs))
        return made[-1]

    yield one
    for manager in made:
        if manager.process.poll() is None:
            manager.process.send_signal(signal.SIGKILL)
            manager.process.wait()


def events(server: ApiServer) -> list[str]:
    return sorted(event["reason"] for event in server.store.list("events"))


def test_where_no_link_can_be_made_one_line_and_one_event_say_so_until_it_can(
    start: Callable[[str], Manager], server: ApiServer
) -> None:
    manager = start(NO_INODES)
    manager.wait_for(lambda: manager.said("the config stays as it is") and events(server))
    time.sleep(LOOKED_ON)  # nothing must happen meanwhile
    assert [line["event"] for line in manager.lines()] == ["the node was read", "the config stays as it is"]
    assert events(server) == ["GpuConfigRefused"]
    assert manager.names() == FILLERS

    manager.make_room()
    manager.wait_for(lambda: manager.said("config in use"))
    manager.stop()
    assert [line["config"] for line in manager.said("config in use")] == ["a"]
    assert events(server) == ["GpuConfigApplied", "GpuConfigRefused"]


def test_where_only_the_copy_has_no_room_the_config_is_in_use_and_said_to_be_once(
    start: Callable[[str], Manager], server: ApiServer
) -> None:
    manager = start(NO_BLOCKS)
    manager.wait_for(lambda: manager.said("the config in use cannot be copied") and events(server))
    time.sleep(LOOKED_ON)  # nothing must happen meanwhile
    assert [line["event"] for line in manager.lines()] == [
        "the node was read",
        "config in use",
        "the config in use cannot be copied",
    ]
    assert events(server) == ["GpuConfigApplied"]
    assert manager.names() == ["config.yaml", *FILLERS]

    manager.make_room()
    manager.wait_for(lambda: manager.said("the config in use is copied again"))
    assert (manager.inside() / ".config.yaml.last-good").read_text() == FILES["a"]
    manager.stop()
    assert events(server) == ["GpuConfigApplied"]
