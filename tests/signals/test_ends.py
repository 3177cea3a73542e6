"""A signal is answered at once by each of the four programs, whenever it comes and whichever thread gets it."""

from __future__ import annotations

import ctypes
import platform
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fakes.four_programs import PATIENCE, PROGRAMS, Bench, bench

_TGKILL = {"x86_64": 234, "aarch64": 131}[platform.machine()]

pytestmark = pytest.mark.parametrize("program", PROGRAMS)


@pytest.fixture
def node(program: str, socket_dir: Path) -> Iterator[Bench]:
    with bench(program, socket_dir) as made:
        yield made


def to_thread(pid: int, thread: int, number: int) -> None:
    """Send a signal to one thread of a process alone."""
    ctypes.CDLL(None).syscall(_TGKILL, pid, thread, number)


def threads(pid: int) -> list[int]:
    """Return the threads of a process, without its main thread."""
    return [int(task.name) for task in Path(f"/proc/{pid}/task").iterdir() if int(task.name) != pid]


def assert_ended(node: Bench, process: subprocess.Popen[bytes]) -> None:
    """Check that a program that was told to end does not wait for its next rescan, and has put everything away."""
    assert (process.wait(PATIENCE), node.left()) == (0, []), node.log.read_text("utf-8")


def hang_up_and_end(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGHUP)
    process.send_signal(signal.SIGTERM)


def hang_up_often_and_end(process: subprocess.Popen[bytes]) -> None:
    for _ in range(100):
        process.send_signal(signal.SIGHUP)
    process.send_signal(signal.SIGTERM)


def end_while_it_is_stopped(process: subprocess.Popen[bytes]) -> None:
    for number in (signal.SIGSTOP, signal.SIGTERM, signal.SIGCONT):
        process.send_signal(number)


def end_again_and_again(process: subprocess.Popen[bytes]) -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT) * 10:
        process.send_signal(number)
        time.sleep(0.002)


def end_by_a_side_thread(process: subprocess.Popen[bytes]) -> None:
    # The oldest: others may be about to end, and take the signal with them.
    to_thread(process.pid, min(threads(process.pid)), signal.SIGTERM)


@pytest.mark.parametrize(
    ("tell", "times"),
    [
        pytest.param(hang_up_and_end, 10, id="SIGHUP and SIGTERM back to back, ten times"),
        pytest.param(hang_up_often_and_end, 1, id="a hundred SIGHUPs and SIGTERM"),
        pytest.param(end_while_it_is_stopped, 1, id="SIGTERM while it is stopped"),
        pytest.param(end_by_a_side_thread, 1, id="SIGTERM to a side thread alone"),
        pytest.param(end_again_and_again, 1, id="forty signals while it ends"),
    ],
)
def test_a_signal_ends_it_at_once(node: Bench, tell: Callable[[subprocess.Popen[bytes]], None], times: int) -> None:
    for _ in range(times):
        process = node.started()
        tell(process)
        assert_ended(node, process)


@pytest.mark.parametrize("moment", [0.0, 0.03, 0.06, 0.1, 0.15, 0.2, 0.3, 0.4], ids=lambda moment: f"{moment:g} s")
def test_sigterm_while_it_starts_ends_it_at_once(node: Bench, moment: float) -> None:
    process = node.start()
    time.sleep(moment)
    held = answers(process.pid, signal.SIGTERM)
    process.terminate()
    code = process.wait(PATIENCE)
    # Before its first line of Python runs, the kernel ends it as any other process.
    assert code == 0 or (code == -signal.SIGTERM and not held), node.log.read_text("utf-8")
    assert node.left() == []


def test_every_thread_lets_signals_through(node: Bench) -> None:
    process = node.started()
    end = time.monotonic() + PATIENCE
    # For a moment, while it is made, a thread lets nothing through.
    while {mask(process.pid, thread, "SigBlk") for thread in threads(process.pid)} != {0}:
        assert time.monotonic() < end
        time.sleep(0.01)


def answers(pid: int, number: signal.Signals) -> bool:
    """Whether a process holds a signal back or has a handler for it."""
    return bool((mask(pid, pid, "SigBlk") | mask(pid, pid, "SigCgt")) >> (number - 1) & 1)


def mask(pid: int, thread: int, name: str) -> int:
    """Return one of the signal masks of a thread; nothing of one that has ended."""
    try:
        lines = Path(f"/proc/{pid}/task/{thread}/status").read_text("ascii").splitlines()
    except OSError:
        return 0
    return next(int(line.split()[1], 16) for line in lines if line.startswith(f"{name}:"))
