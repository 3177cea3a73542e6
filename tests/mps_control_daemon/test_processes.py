"""Which processes belong to MPS."""

from __future__ import annotations

from pathlib import Path

import pytest

from mps_control_daemon.processes import control_daemon, servers

CONTROL = "nvidia-cuda-mps-control\0-d\0"
SERVER = "/usr/bin/nvidia-cuda-mps-server\0"


class Proc:
    """A directory that looks like /proc, and a pipe directory."""

    def __init__(self, tmp_path: Path) -> None:
        self.proc = tmp_path / "proc"
        self.proc.mkdir()
        self.pipe = tmp_path / "pipe"
        self.pipe.mkdir()

    def add(self, pid: int, cmdline: str, *, pipe: Path | None = None, state: str = "S") -> None:
        process = self.proc / str(pid)
        process.mkdir()
        (process / "stat").write_text(f"{pid} (a ) b) {state} 1 1\n")
        (process / "cmdline").write_text(cmdline)
        (process / "environ").write_text(f"A=1\0CUDA_MPS_PIPE_DIRECTORY={pipe or self.pipe}\0")

    def pid_file(self, text: str) -> None:
        (self.pipe / "nvidia-cuda-mps-control.pid").write_text(text)


@pytest.fixture
def proc(tmp_path: Path) -> Proc:
    return Proc(tmp_path)


def test_a_daemon_is_found_by_its_file(proc: Proc) -> None:
    assert control_daemon(proc.pipe, proc.proc) is None
    proc.pid_file("17\n")
    assert control_daemon(proc.pipe, proc.proc) is None
    proc.add(17, CONTROL)
    assert control_daemon(proc.pipe, proc.proc) == 17


@pytest.mark.parametrize(
    ("cmdline", "state"),
    [
        pytest.param("/bin/other\0--log\0nvidia-cuda-mps-control-notes\0", "S", id="another program has the number"),
        pytest.param(CONTROL, "Z", id="the daemon has ended and nobody has waited for it"),
        pytest.param("", "S", id="a thread of the kernel has the number"),
    ],
)
def test_a_number_alone_proves_nothing(proc: Proc, cmdline: str, state: str) -> None:
    proc.pid_file("17\n")
    proc.add(17, cmdline, state=state)
    assert control_daemon(proc.pipe, proc.proc) is None


def test_a_file_without_a_number_tells_nothing(proc: Proc) -> None:
    proc.pid_file("soon\n")
    assert control_daemon(proc.pipe, proc.proc) is None


def test_servers_are_those_of_the_same_pipes(proc: Proc, tmp_path: Path) -> None:
    proc.add(20, SERVER)
    proc.add(21, SERVER, pipe=tmp_path / "other")
    proc.add(22, CONTROL)
    proc.add(23, SERVER, state="Z")
    (proc.proc / "24").mkdir()
    proc.add(9, SERVER)
    (proc.proc / "9/environ").unlink()
    assert servers(proc.pipe, proc.proc) == (20,)
