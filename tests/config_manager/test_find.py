from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from config_manager.find import Sent, read_processes, signal_programs
from config_manager.processes import Process

PROC = Path("/proc")

PROGRAM = """#!{python}
import os, signal, sys
signal.signal(signal.SIGHUP, lambda *_: os.write(1, b"hup\\n"))
print("ready", flush=True)
for line in sys.stdin:
    break
"""


class Children:
    """Real processes that print `hup` for each signal and end when their input closes."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._running: list[subprocess.Popen[str]] = []

    def start(self, name: str) -> subprocess.Popen[str]:
        script = self._directory / name
        if not script.exists():
            script.write_text(PROGRAM.format(python=sys.executable))
            script.chmod(0o755)
        child = subprocess.Popen([script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._running.append(child)
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        return child

    def end(self) -> list[str]:
        """End all and return what each printed since it was ready."""
        printed = [child.communicate()[0] for child in self._running]
        self._running.clear()
        return printed


@pytest.fixture
def children(tmp_path: Path) -> Iterator[Children]:
    started = Children(tmp_path)
    yield started
    started.end()


# Longer than the kernel's short name, as nvidia-device-plugin is, and of no other process here.
NAME = f"plugin-under-test-{os.getpid()}"


def test_every_process_of_the_name_gets_one_signal_and_no_other_does(children: Children) -> None:
    first, second = children.start(NAME), children.start(NAME)
    children.start(f"{NAME}-validator")
    sent = signal_programs([NAME], signal.SIGHUP, proc=PROC)
    assert sent == Sent(reached=tuple(sorted([first.pid, second.pid])))
    assert children.end() == ["hup\n", "hup\n", ""]


def test_a_path_finds_the_same_program_as_its_name(children: Children) -> None:
    child = children.start(NAME)
    assert signal_programs([f"/usr/bin/{NAME}"], signal.SIGHUP, proc=PROC) == Sent(reached=(child.pid,))
    assert children.end() == ["hup\n"]


@pytest.mark.parametrize(
    ("program", "answering"),
    [
        ("nvidia-device-plugin", ["check-config", "-"]),
        ("gpu-feature-discovery", ["--oneshot", "check-config", "-"]),
        ("mps-control-daemon", ["--log-level", "debug", "check-config", "-"]),
    ],
)
def test_a_real_program_that_only_answers_is_left_alone(tmp_path: Path, program: str, answering: list[str]) -> None:
    command = [str(Path(sys.executable).parent / program), *answering]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        # A world in which there is no other program.
        (tmp_path / str(process.pid)).symlink_to(PROC / str(process.pid))
        assert signal_programs([program], signal.SIGHUP, proc=tmp_path) == Sent()
        said, _ = process.communicate("version: v1\n")
        assert (process.returncode, said.splitlines()[-1]) == (0, "standard input is valid.")


def test_an_ended_process_is_not_found_even_before_anybody_waited_for_it(children: Children) -> None:
    child = children.start(NAME)
    assert child.stdin is not None
    child.stdin.close()
    child.stdin = None
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert signal_programs([NAME], signal.SIGHUP, proc=PROC) == Sent(reached=())


def fake_process(proc: Path, pid: int, *argv: str, comm: str = "x") -> None:
    directory = proc / str(pid)
    directory.mkdir()
    (directory / "cmdline").write_bytes(b"".join(part.encode() + b"\0" for part in argv))
    (directory / "comm").write_text(f"{comm}\n")


def test_what_proc_says_is_read_and_what_vanishes_is_left_out(tmp_path: Path) -> None:
    fake_process(tmp_path, 10, "gfd", "--oneshot", comm="gfd")
    fake_process(tmp_path, 2, comm="kthreadd")
    (tmp_path / "11").mkdir()
    (tmp_path / "12").mkdir()
    (tmp_path / "12" / "cmdline").write_bytes(b"gfd\0")
    (tmp_path / "self").symlink_to("10")
    (tmp_path / "uptime").write_text("1")
    assert sorted(read_processes(tmp_path), key=lambda process: process.pid) == [
        Process(pid=2, argv=(), comm="kthreadd"),
        Process(pid=10, argv=("gfd", "--oneshot"), comm="gfd"),
    ]


@pytest.mark.parametrize(
    ("written", "argv"),
    [
        pytest.param(b"title without end", ("title without end",), id="a set title without its end"),
        pytest.param(b"title\0\0\0\0", ("title",), id="a set title filled up with zeros"),
        pytest.param(b"sh\0\0-c\0", ("sh", "", "-c"), id="an empty argument"),
        pytest.param(b"\xff\0", ("\udcff",), id="not text"),
    ],
)
def test_command_lines_of_all_kinds(tmp_path: Path, written: bytes, argv: tuple[str, ...]) -> None:
    fake_process(tmp_path, 5)
    (tmp_path / "5" / "cmdline").write_bytes(written)
    (found,) = read_processes(tmp_path)
    assert found.argv == argv


def test_processes_that_vanish_or_refuse_do_not_keep_others_from_being_signalled(tmp_path: Path) -> None:
    for pid in (1001, 1002, 1003, os.getpid()):
        fake_process(tmp_path, pid, "gfd")
    killed = []

    def kill(pid: int, number: int) -> None:
        if pid == 1001:
            raise ProcessLookupError
        if pid == 1002:
            raise PermissionError
        killed.append((pid, number))

    assert signal_programs(["gfd"], 1, proc=tmp_path, kill=kill) == Sent(reached=(1003,), refused=(1002,))
    assert killed == [(1003, 1)]
