"""Finds the processes of MPS. A number alone proves nothing: it may belong to another process by now."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from gpu_core.files import read_regular
from gpu_core.mps import CONTROL

SERVER = "nvidia-cuda-mps-server"
"""The program that a control daemon starts when its first client comes."""

PID_FILE = "nvidia-cuda-mps-control.pid"
"""Into this file of its pipe directory a control daemon writes its process number."""

_MOST_DIGITS = 64
"""Bytes of a process number, however it is filled up."""

_PIPE_VARIABLE = "CUDA_MPS_PIPE_DIRECTORY"


def control_daemon(pipe: Path, proc: Path) -> int | None:
    """Return the process of the control daemon that works in a pipe directory, if it runs. `proc` is /proc."""
    try:
        pid = int(read_regular(pipe / PID_FILE, most=_MOST_DIGITS))
    except (OSError, ValueError):
        return None
    return pid if _runs(proc / str(pid), CONTROL) else None


def servers(pipe: Path, proc: Path) -> tuple[int, ...]:
    """Return the MPS servers that work in a pipe directory, also those whose control daemon is gone."""
    return tuple(
        int(process.name)
        for process in sorted(proc.glob("[0-9]*"))
        if _runs(process, SERVER) and f"{_PIPE_VARIABLE}={pipe}" in _texts(process / "environ")
    )


def _runs(process: Path, program: str) -> bool:
    """Whether a process has not ended and runs a program, itself or through an interpreter."""
    try:
        state = (process / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return False
    # A zombie has ended already. An interpreter comes with options, and what it runs after these.
    words = [word for word in _texts(process / "cmdline") if not word.startswith("-")]
    return state not in {"Z", "X"} and program in (PurePosixPath(word).name for word in words[:2])


def _texts(file: Path) -> tuple[str, ...]:
    try:
        return tuple(file.read_bytes().decode("utf-8", "replace").split("\0"))
    except OSError:
        return ()
