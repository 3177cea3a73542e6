"""The command as users and Kubernetes start it: a process of its own, with real signals to real processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from fakes.api_server import ApiServer
from fakes.configmap import ConfigMapVolume
from fakes.kubeconfig import write_kubeconfig
from fakes.patience import PATIENCE

COMMAND = [sys.executable, "-c", "from config_manager.cli import main; main()"]
LABEL = "nvidia.com/device-plugin.config"
FILES = {"a": "version: v1 # a\n", "b": "version: v1 # b\n"}

# As the device plugin is installed: a script whose interpreter is argv[0], with a name too long for the kernel.
TARGET = f"device-plugin-under-test-{os.getpid()}"
TARGET_SOURCE = """#!{python}
import signal, sys
signal.signal(signal.SIGHUP, lambda *_: print(open({link!r}).read(), end="", flush=True))
print("ready", flush=True)
sys.stdin.read()
"""


class Place:
    """A node's directories and its API server."""

    def __init__(self, root: Path, server: ApiServer) -> None:
        self.root = root
        self.server = server
        self.volume = ConfigMapVolume(root / "available", FILES)
        self.link = root / "config.yaml"
        self.environ = {
            "KUBECONFIG": str(write_kubeconfig(root / "kubeconfig", server.url)),
            "NODE_NAME": "a",
            "CONFIG_FILE_SRCDIR": str(self.volume.path),
            "CONFIG_FILE_DST": str(self.link),
            "PROCESS_TO_SIGNAL": TARGET,
        }

    def start(self, *flags: str, environ: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
        wanted = {**os.environ, **self.environ, **(environ or {})}
        return subprocess.Popen([*COMMAND, *flags], env=wanted, stderr=subprocess.PIPE, text=True)

    def target(self) -> subprocess.Popen[str]:
        script = self.root / TARGET
        script.write_text(TARGET_SOURCE.format(python=sys.executable, link=str(self.link)))
        script.chmod(0o755)
        child = subprocess.Popen([script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        return child


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with ApiServer() as server:
        server.put_node("a", labels={LABEL: "a"})
        yield Place(tmp_path, server)


def test_a_real_process_is_told_of_each_change_and_sigterm_ends_with_zero(place: Place) -> None:
    target = place.target()
    assert target.stdout is not None
    manager = place.start()
    assert target.stdout.readline() == FILES["a"]
    place.server.put_node("a", labels={LABEL: "b"})
    assert target.stdout.readline() == FILES["b"]
    manager.send_signal(signal.SIGHUP)
    place.volume.update({**FILES, "b": "version: v1 # newer\n"})
    assert target.stdout.readline() == "version: v1 # newer\n"
    manager.terminate()
    _, logged = manager.communicate(timeout=PATIENCE)
    assert manager.returncode == 0
    assert target.communicate()[0] == ""
    lines = [json.loads(line) for line in logged.splitlines()]
    assert [line["config"] for line in lines if line["event"] == "config in use"] == ["a", "b", "b"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGQUIT], ids=lambda number: number.name)
def test_a_signal_ends_it_with_zero_also_while_the_api_server_is_silent(place: Place, number: signal.Signals) -> None:
    place.server.stop()
    manager = place.start("--oneshot")
    assert manager.stderr is not None
    assert "the node cannot be followed" in manager.stderr.readline()
    manager.send_signal(number)
    manager.communicate(timeout=PATIENCE)
    assert manager.returncode == 0


def test_as_an_init_container_it_sets_the_link_and_ends(place: Place) -> None:
    ran = place.start(environ={"ONESHOT": "true", "SEND_SIGNAL": "false"})
    ran.communicate(timeout=PATIENCE)
    assert ran.returncode == 0
    assert place.link.readlink() == place.volume.path / "a"


def test_a_mistake_is_one_message_without_a_traceback(place: Place) -> None:
    place.server.put_node("a", labels={LABEL: "nowhere"})
    ran = place.start("--oneshot")
    _, logged = ran.communicate(timeout=PATIENCE)
    assert ran.returncode == 1
    assert logged.splitlines()[-1].startswith("config-manager: There is no config 'nowhere'")
    assert "Traceback" not in logged


@pytest.mark.parametrize("variable", ["NODE_NAME", "CONFIG_FILE_SRCDIR", "CONFIG_FILE_DST"])
def test_what_must_be_given_is_named(place: Place, variable: str) -> None:
    ran = place.start(environ={variable: ""})
    _, logged = ran.communicate(timeout=PATIENCE)
    assert ran.returncode == 1
    assert f"--{variable.lower().replace('_', '-')}" in logged
    assert place.server.requests == []


def test_an_empty_signal_variable_means_the_default(place: Place) -> None:
    target = place.target()
    assert target.stdout is not None
    manager = place.start("--oneshot", environ={"SIGNAL": ""})
    assert target.stdout.readline() == FILES["a"]
    manager.communicate(timeout=PATIENCE)
    assert manager.returncode == 0
    target.communicate()
