"""Runs other programs: always with a time-out, never with a shell, and with what they say kept in bounds."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from gpu_core.errors import ProcessError

_MOST_OUTPUT = 64 * 1024

_LOOK = 0.1
"""Seconds between two looks whether a program is still waited for."""

_DYING = 2.0
"""Seconds that a program has to end once it was killed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Completed:
    """How a program ended, and what it said: at most 64 KiB of each stream, undecodable bytes replaced."""

    returncode: int
    stdout: str
    stderr: str


def run(
    argv: Sequence[str],
    *,
    timeout: float,
    env: Mapping[str, str] | None = None,
    text: str | None = None,
    given_up: Callable[[], bool] = lambda: False,
) -> Completed:
    """Run a program to its end and return how it ended.

    `timeout` is in seconds. `env` replaces the environment; the program itself is still looked up on our own PATH.
    `text` is written to its standard input, which is empty otherwise; it has to fit into a pipe. `given_up` tells
    whether nobody waits for the end any more. Raises ProcessError when the program is missing, may not be run, or
    does not end in time; then it is killed, and left alone where even that takes long, as in a driver that hangs.
    """
    # A replaced environment has no PATH, and the place where a program is looked up must not depend on that.
    program = shutil.which(argv[0])
    if program is None:
        found = shutil.which(argv[0], mode=os.F_OK)
        if found is not None:
            raise ProcessError(f"{argv[0]} cannot be run: {found} is not executable.")
        raise ProcessError(f"{argv[0]} was not found on PATH. Check that the image or the driver brings it.")
    # Files in memory and no pipes: what a program leaves running in the background may keep them open for ever.
    with _memory() as stdout, _memory() as stderr:
        try:
            process = subprocess.Popen(  # noqa: S603  Callers pass programs and arguments that they made themselves.
                list(argv),
                executable=program,
                stdin=subprocess.PIPE,
                stdout=stdout,
                stderr=stderr,
                env=None if env is None else dict(env),
            )
        except OSError as error:
            raise ProcessError(f"{argv[0]} cannot be run: {error.strerror}.") from error
        try:
            _write(process, (text or "").encode())
            ended = _ends(process, timeout, given_up)
        except BaseException:
            _kill(process)
            raise
        if not ended:
            _kill(process)
            if given_up():
                raise ProcessError(f"{argv[0]} was killed, as nobody waits for its end any more.")
            raise ProcessError(f"{argv[0]} did not end within {timeout:g} s and was killed.")
        return Completed(returncode=process.returncode, stdout=_read(stdout), stderr=_read(stderr))


def _write(process: subprocess.Popen[bytes], data: bytes) -> None:
    if process.stdin is None:
        return
    # A program may end, or close its input, without having read it.
    with contextlib.suppress(BrokenPipeError), process.stdin as stdin:
        stdin.write(data)


def _ends(process: subprocess.Popen[bytes], timeout: float, given_up: Callable[[], bool]) -> bool:
    """Wait for the end of a program; return whether it has come."""
    end = time.monotonic() + timeout
    while True:
        try:
            process.wait(max(0.0, min(end - time.monotonic(), _LOOK)))
        except subprocess.TimeoutExpired:
            if time.monotonic() >= end or given_up():
                return False
        else:
            return True


def _kill(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_DYING)


def _memory() -> BinaryIO:
    return os.fdopen(os.memfd_create("output"), "w+b")


def _read(output: BinaryIO) -> str:
    return os.pread(output.fileno(), _MOST_OUTPUT, 0).decode("utf-8", "replace")
