"""The program itself, as a process: signals, a crash, a changed file, its exit codes."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from fakes.mps_bench import PROGRAM, Bench, command, eventually, program, sharing
from fakes.mps_tools import MpsTools, is_running
from fakes.patience import PATIENCE


@pytest.fixture
def bench(tmp_path: Path, tools: MpsTools) -> Bench:
    return Bench(tmp_path, tools)


def is_ready(bench: Bench) -> bool:
    return bench.ready is not None


def said_at(bench: Bench) -> int | None:
    try:
        return Path(bench.root.ready).stat().st_mtime_ns
    except FileNotFoundError:
        return None


def test_a_crash_a_changed_file_and_the_end(bench: Bench, tools: MpsTools) -> None:
    with program(bench) as process:
        eventually(lambda: is_ready(bench))
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert is_running(tools.pids[0])
    ready, said = bench.ready, said_at(bench)
    with program(bench) as process:
        # The daemon that was left behind is taken over, and readiness is said anew.
        eventually(lambda: said_at(bench) not in (None, said))
        assert (bench.ready, len(tools.starts)) == (ready, 1)
        bench.configure(sharing(2))
        eventually(lambda: bench.ready not in (None, ready))
        assert [is_running(pid) for pid in tools.pids] == [False, True]
        # Without a change of the file a signal changes nothing.
        ready = bench.ready
        process.send_signal(signal.SIGHUP)
        os.kill(tools.pids[1], signal.SIGKILL)
        eventually(lambda: len(tools.pids) == 3 and bench.ready == ready)
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
    assert tools.have_ended()
    assert not is_ready(bench)
    output = bench.config_file.with_name("output").read_text()
    assert [line.partition("] ")[2].partition(" ")[0] for line in output.splitlines()].count("Exit") == 2


@pytest.mark.parametrize(
    ("config", "says"),
    [
        pytest.param(sharing(49), "49 replicas of GPU 0 (GPU-0), which takes 48 MPS clients", id="too many replicas"),
        pytest.param("version: v9\n", "The configuration in", id="a file that cannot be used"),
    ],
)
def test_a_start_that_waiting_cannot_repair_ends_with_one(bench: Bench, config: object, says: str) -> None:
    bench.configure(config)  # type: ignore[arg-type]
    done = subprocess.run(command(bench), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert says in done.stderr.splitlines()[-1] + done.stderr
    assert "Traceback" not in done.stderr


def test_a_missing_directory_ends_with_one(bench: Bench) -> None:
    bench.directory.rmdir()
    done = subprocess.run(command(bench), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.endswith(f"{bench.directory} is no directory. Mount the host's MPS directory there.\n")


@pytest.mark.parametrize("argv", [["--help"], ["mount-shm", "--help"], ["--version"]])
def test_help_and_version(argv: list[str]) -> None:
    done = subprocess.run([PROGRAM, *argv], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "mps" in done.stdout.lower() or argv == ["--version"]
