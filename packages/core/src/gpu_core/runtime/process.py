"""Runs other programs: always with a time-out, never with a shell, and with what they say kept in bounds."""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from gpu_core.errors import ProcessError

_MOST_OUTPUT = 64 * 1024

_DYING = 2.0
"""Seconds that a killed program may take to end; one that hangs in the kernel, as in a driver, takes for ever."""

_SHORTEST_LOOK, _LONGEST_LOOK = 0.001, 0.05
"""Seconds between two looks whether a silent program has ended."""


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
    `text` is what it finds in its standard input, which is empty otherwise. `given_up` tells whether nobody waits for
    the end any more. What the program leaves running in the background goes on. Raises ProcessError when the program
    is missing, may not be run, or does not end in time; then it is killed with all that it has started, and left
    alone where even that takes long, as in a driver that hangs.
    """
    # A replaced environment has no PATH, and the place where a program is looked up must not depend on that.
    program = shutil.which(argv[0])
    if program is None:
        found = shutil.which(argv[0], mode=os.F_OK)
        if found is not None:
            raise ProcessError(f"{argv[0]} cannot be run: {found} is not executable.")
        raise ProcessError(f"{argv[0]} was not found on PATH. Check that the image or the driver brings it.")
    with ExitStack() as stack:
        try:
            stdin, stdout, stderr = stack.enter_context(_input(text or "")), _output(stack), _output(stack)
            process = subprocess.Popen(  # noqa: S603  Callers pass programs and arguments that they made themselves.
                list(argv),
                executable=program,
                stdin=stdin,
                stdout=stdout.writer,
                stderr=stderr.writer,
                env=None if env is None else dict(env),
                # So that it can be killed with what it has started, and that keys pressed for us do not end it.
                process_group=0,
            )
        except OSError as error:
            raise ProcessError(f"{argv[0]} cannot be run: {error.strerror}.") from error
        try:
            ended = _ends(process, (stdout, stderr), timeout, given_up)
        except BaseException:
            _kill(process)
            raise
        if not ended:
            fate = "was killed" if _kill(process) else f"cannot be killed: process {process.pid} hangs in the kernel"
            if given_up():
                raise ProcessError(f"{argv[0]} {fate}, as nobody waits for its end any more.")
            raise ProcessError(f"{argv[0]} did not end within {timeout:g} s and {fate}.")
        return Completed(returncode=process.returncode, stdout=stdout.text(), stderr=stderr.text())


class _Output:
    """One stream of a program: a pipe that is emptied while the program runs, of which the beginning is kept.

    What the program leaves running may keep the stream for ever. So the end of the stream is never waited for, and it
    is left such that those who go on may write: they neither wait for somebody to read, nor are killed because nobody
    does. For that, the writing end reads too (a pipe without readers is what kills), and writing fails at once when
    the pipe is full, from `close` on. A file in memory, which has neither trouble, would grow without bounds.
    """

    def __init__(self) -> None:
        self.reader, one_way = os.pipe()
        try:
            self.writer = os.open(f"/proc/self/fd/{one_way}", os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            os.close(self.reader)
            raise
        finally:
            os.close(one_way)
        os.set_blocking(self.reader, False)
        self._kept = bytearray()

    def take(self) -> None:
        """Take what is there, at most as much as a pipe holds; keep it while there is room."""
        with contextlib.suppress(BlockingIOError):
            self._kept += os.read(self.reader, _MOST_OUTPUT)
            del self._kept[_MOST_OUTPUT:]

    def text(self) -> str:
        return self._kept.decode("utf-8", "replace")

    def close(self) -> None:
        os.set_blocking(self.writer, False)
        os.close(self.reader)
        os.close(self.writer)


@contextlib.contextmanager
def _input(text: str) -> Iterator[int]:
    # A file in memory is there as a whole before the program starts; a pipe would have to be written to meanwhile.
    descriptor = os.memfd_create("input")
    try:
        os.write(descriptor, text.encode())
        os.lseek(descriptor, 0, os.SEEK_SET)
        yield descriptor
    finally:
        os.close(descriptor)


def _output(stack: ExitStack) -> _Output:
    output = _Output()
    stack.callback(output.close)
    return output


def _ends(
    process: subprocess.Popen[bytes], outputs: Sequence[_Output], timeout: float, given_up: Callable[[], bool]
) -> bool:
    """Empty the outputs until the program has ended; return whether it has, in time and while somebody waits."""
    deadline = time.monotonic() + timeout
    readable = select.poll()
    for output in outputs:
        readable.register(output.reader, select.POLLIN)
    look = _SHORTEST_LOOK
    while True:
        ended = process.poll() is not None
        # After that, so that all is taken that was written before the end.
        for output in outputs:
            output.take()
        left = deadline - time.monotonic()
        if ended or left <= 0 or given_up():
            return ended
        look = _SHORTEST_LOOK if readable.poll(min(look, left) * 1000) else min(2 * look, _LONGEST_LOOK)


def _kill(process: subprocess.Popen[bytes]) -> bool:
    """Kill a program with what it has started in its group; return whether it has ended."""
    if process.poll() is None:
        # It has not been waited for, so that the number is still that of its group; it may have left that itself.
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
        process.kill()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_DYING)
    return process.returncode is not None
