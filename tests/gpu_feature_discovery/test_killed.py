"""gfd is killed at any moment: its file is the old one or the new one, and the next start leaves exactly that file."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fakes.killed import KILLED, Runs, runs_of
from gpu_core.passing import is_passing

GFD = str(Path(sys.executable).parent / "gfd")
NODES = ("t4", "a100x8")


@pytest.fixture(scope="module")
def gfd() -> Iterator[Runs]:
    with runs_of("gpu_feature_discovery.cli", "gpu_feature_discovery.app", "gpu_core.command") as runs:
        yield runs


def arguments(output: Path, node: str) -> list[str]:
    return ["gfd", "--publish=file", f"--output-file={output}", "--no-timestamp", f"--simulated-node={node}"]


def names(directory: Path) -> list[str]:
    return sorted(entry.name for entry in directory.iterdir())


def test_killed_at_each_moment_it_leaves_whole_labels_and_the_next_start_leaves_nothing_else(
    gfd: Runs, tmp_path: Path
) -> None:
    output = tmp_path / "features.d" / "gfd"
    output.parent.mkdir()
    foreign = {"nfd-own", ".hidden", ".0123abcd"}
    for name in foreign:
        (output.parent / name).write_text("another's")

    def run(node: str, moment: int | None = None) -> int:
        return gfd.run(*arguments(output, node), "--oneshot", environ={}, directory=output.parent, moment=moment)

    whole = []
    for node in NODES:
        assert run(node) == 0
        whole.append(output.read_bytes())
    left_behind = 0
    for moment in range(100):
        # Always the labels that are not there yet, so that there is something to write.
        ended = run(NODES[1 - whole.index(output.read_bytes())], moment)
        assert output.read_bytes() in whole
        # One thing and its lock at most, as each run removes what the one before has left.
        left = [name for name in names(output.parent) if is_passing(name)]
        assert len(left) <= 2
        assert foreign <= set(names(output.parent))
        left_behind += bool(left)
        if ended == 0:
            break
        assert ended == KILLED
    else:
        pytest.fail("it touches the directory without end")
    assert left_behind >= 4, "it was never killed while it wrote"
    assert run(NODES[0]) == 0
    assert output.read_bytes() == whole[0]
    assert set(names(output.parent)) == {"gfd", *foreign}


def test_daemons_killed_at_any_time_leave_a_directory_that_the_next_start_clears(tmp_path: Path) -> None:
    chance = random.Random(15)
    output = tmp_path / "features.d" / "gfd"
    output.parent.mkdir()
    for turn in range(6):
        command = [GFD, *arguments(output, NODES[turn % 2])[1:]]
        with subprocess.Popen(command, env={}, stderr=subprocess.DEVNULL) as daemon:
            time.sleep(chance.random() * 0.5)  # the moment of its death, not a wait for something
            daemon.kill()
    # Another node, so that its labels are known to be those of the last one.
    with subprocess.Popen([GFD, *arguments(output, "v100x8-dgx1")[1:]], env={}, stderr=subprocess.DEVNULL) as daemon:
        deadline = time.monotonic() + 60
        while names(output.parent) != ["gfd"] or "V100" not in output.read_text():
            assert time.monotonic() < deadline, names(output.parent)
            assert daemon.poll() is None
            time.sleep(0.02)
        daemon.send_signal(signal.SIGTERM)
        assert daemon.wait(60) == 0
    assert names(output.parent) == []
