"""What the programs start can be ended by a signal, however the programs themselves were started."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

from fakes.four_programs import PATIENCE, bench
from fakes.mps_tools import is_running

# As a shell script that runs its jobs in the background under nohup, and a parent that blocks what it waits for.
_CARELESS = """
import os, signal, sys
for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGUSR1):
    signal.signal(number, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
os.execv(sys.argv[1], sys.argv[1:])
"""


def test_a_control_daemon_has_an_empty_mask_and_ends_when_it_is_told_to(socket_dir: Path) -> None:
    with bench("mps-control-daemon", socket_dir) as node:
        node.around = (sys.executable, "-c", _CARELESS)
        process = node.started()
        (daemon,) = control_daemons(socket_dir / "mps")
        status = dict(line.split(":\t", 1) for line in Path(f"/proc/{daemon}/status").read_text("ascii").splitlines())
        assert status["SigBlk"] == "0" * 16
        # The daemon of this test is a Python program, which ignores these two by itself; and what the C library keeps
        # for its threads no program can set, or take back from those that started it.
        ignored = int(status["SigIgn"], 16) & bits(*signal.valid_signals())
        assert ignored & ~bits(signal.SIGPIPE, signal.SIGXFSZ) == 0
        process.terminate()
        assert process.wait(PATIENCE) == 0
        assert not is_running(daemon)


def control_daemons(root: Path) -> list[int]:
    return [int(file.read_text("ascii")) for file in root.rglob("nvidia-cuda-mps-control.pid")]


def bits(*numbers: int) -> int:
    return sum(1 << (number - 1) for number in numbers)
