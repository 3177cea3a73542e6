"""config-manager is killed at any moment: readers find the old config or the new one, and the next start clears up."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from config_manager.apply import copy_of
from fakes.api_server import ApiServer
from fakes.configmap import ConfigMapVolume
from fakes.killed import KILLED, Runs, runs_of
from fakes.kubeconfig import write_kubeconfig
from gpu_core.passing import is_passing

LABEL = "nvidia.com/device-plugin.config"
FILES = {"a": "version: v1 # a\n", "b": "version: v1 # b\n"}
OTHER = {FILES["a"]: "b", FILES["b"]: "a"}


@pytest.fixture(scope="module")
def manager() -> Iterator[Runs]:
    later = ("config_manager.serve", "gpu_core.command", "kubernetes.client.api_client", "kubernetes.watch.watch")
    with runs_of("config_manager.cli", *later) as runs:
        yield runs


@pytest.fixture
def server() -> Iterator[ApiServer]:
    with ApiServer() as running:
        yield running


def names(directory: Path) -> list[str]:
    return sorted(entry.name for entry in directory.iterdir())


def test_killed_at_each_moment_it_leaves_a_whole_config_and_the_next_start_leaves_nothing_else(
    manager: Runs, server: ApiServer, tmp_path: Path
) -> None:
    volume = ConfigMapVolume(tmp_path / "available", FILES)
    link = tmp_path / "config" / "config.yaml"
    link.parent.mkdir()
    (link.parent / ".another's").touch()
    environ = {
        "PATH": str(Path(sys.executable).parent),
        "KUBECONFIG": str(write_kubeconfig(tmp_path / "kubeconfig", server.url)),
        "NODE_NAME": "n",
        "CONFIG_FILE_SRCDIR": str(volume.path),
        "CONFIG_FILE_DST": str(link),
        "SEND_SIGNAL": "false",
        "LOG_LEVEL": "error",
    }

    def run(label: str, moment: int | None = None) -> int:
        server.put_node("n", labels={LABEL: label})
        return manager.run("config-manager", "--oneshot", environ=environ, directory=link.parent, moment=moment)

    assert run("a") == 0
    left_behind = 0
    for moment in range(200):
        ended = run(OTHER[link.read_text()], moment)
        assert link.read_text() in OTHER
        assert copy_of(link).read_text() in OTHER
        left = [name for name in names(link.parent) if is_passing(name)]
        assert len(left) <= 2
        left_behind += bool(left)
        if ended == 0:
            break
        assert ended == KILLED
    else:
        pytest.fail("it touches the directory without end")
    assert left_behind >= 4, "it was never killed while it wrote"
    assert run("a") == 0
    assert (link.readlink(), copy_of(link).read_text()) == (volume.path / "a", FILES["a"])
    assert names(link.parent) == [".another's", ".config.yaml.last-good", "config.yaml"]
