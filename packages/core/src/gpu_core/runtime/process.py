"""Runs other programs: always with a time-out, never with a shell, and with what they say kept in bounds."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from gpu_core.errors import ProcessError

_MOST_OUTPUT = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Completed:
    """How a program ended, and what it said: at most 64 KiB of each stream, undecodable bytes replaced."""

    returncode: int
    stdout: str
    stderr: str


def run(
    argv: Sequence[str], *, timeout: float, env: Mapping[str, str] | None = None, text: str | None = None
) -> Completed:
    """Run a program to its end and return how it ended.

    `timeout` is in seconds. `env` replaces the environment; the program itself is still looked up on our own PATH.
    `text` is written to its standard input, which is empty otherwise. Raises ProcessError when the program is
    missing, may not be run, or does not end in time; then it is killed.
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
            done = subprocess.run(  # noqa: S603  Callers pass programs and arguments that they made themselves.
                list(argv),
                executable=program,
                input=(text or "").encode(),
                stdout=stdout,
                stderr=stderr,
                timeout=timeout,
                env=None if env is None else dict(env),
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise ProcessError(f"{argv[0]} did not end within {timeout:g} s and was killed.") from error
        except OSError as error:
            raise ProcessError(f"{argv[0]} cannot be run: {error.strerror}.") from error
        return Completed(returncode=done.returncode, stdout=_read(stdout), stderr=_read(stderr))


def _memory() -> BinaryIO:
    return os.fdopen(os.memfd_create("output"), "w+b")


def _read(output: BinaryIO) -> str:
    return os.pread(output.fileno(), _MOST_OUTPUT, 0).decode("utf-8", "replace")
