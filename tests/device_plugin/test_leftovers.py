"""What a plugin that was killed left half made goes with the next start, and nothing else does."""

from __future__ import annotations

import os
import stat
import time
from pathlib import Path

from fakes.killed import KILLED, runs_of
from fakes.running_plugin import run_plugin
from gpu_core.passing import is_passing, passing_name, remove_leftovers
from gpu_demo.kubelet import Kubelet, Listed

LOCK, PASSING = ".k8s-gpu-suite-0123abcd.lock", ".gpu-0123abcd"


def names(directory: Path) -> set[str]:
    return {entry.name for entry in directory.iterdir()}


def test_a_start_clears_the_directories_of_the_kubelet_and_of_cdi(kubelet: Kubelet) -> None:
    cdi = kubelet.directory.parent / f"{kubelet.directory.name}.d" / "cdi"
    cdi.mkdir(parents=True)
    for directory in (kubelet.directory, cdi):
        for name in (LOCK, PASSING, ".deadbeef", "another.json"):
            (directory / name).touch()
    with passing_name(kubelet.directory) as held:
        held.touch()
        with run_plugin(kubelet, "t4x1") as plugin:
            kubelet.log.wait_for(Listed)
            (told,) = [line for line in plugin.log.lines() if "killed process" in line["event"]]
            assert told["event"] == (
                f"Removed what a killed process left half made: {kubelet.directory / PASSING}, {cdi / PASSING}"
            )
            in_making = {name for name in names(kubelet.directory) if is_passing(name)}
            assert (len(in_making), held.name in in_making) == (2, True)
            assert names(kubelet.directory) >= {"nvidia-gpu.sock", ".deadbeef", "another.json"}
            assert names(cdi) == {".deadbeef", "another.json"}


def test_killed_while_it_makes_its_socket_it_leaves_one_that_the_next_start_removes(
    kubelet: Kubelet, socket_dir: Path
) -> None:
    directory = socket_dir / "p"
    directory.mkdir()
    argv = ["nvidia-device-plugin", "--kubelet-socket=", f"--device-plugin-dir={directory}", "--simulated-node=t4"]
    left: list[list[bool]] = []
    with runs_of("device_plugin.cli") as plugin:
        # Before it looks for leftovers, makes the lock, opens the socket to others, renames it, and removes the lock.
        for moment in (0, 1, 2, 4, 3):
            remove_leftovers(directory)
            assert plugin.run(*argv, environ={}, directory=directory, moment=moment) == KILLED
            passing = sorted(name for name in names(directory) if is_passing(name))
            left.append([stat.S_ISSOCK(os.lstat(directory / name).st_mode) for name in passing])
    assert left == [[], [], [True, False], [False], [True, False]]
    with run_plugin(directory, "t4x1"):
        deadline = time.monotonic() + 60
        while names(directory) != {"nvidia-gpu.sock"}:
            assert time.monotonic() < deadline, names(directory)
            time.sleep(0.02)
