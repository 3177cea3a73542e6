"""The suite's programs as processes: run one to its end, or start one and stop it again."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Protocol, Self

# Seconds for a program that only prints something, and for one that was asked to end.
RUN_TIMEOUT = 60.0
STOP_TIMEOUT = 60.0
# Lines of a program's log that help to see why it failed.
TAIL = 12

# Seconds between two looks into a log.
_LOOK = 0.05

# What a program needs of the environment. Everything else might configure it, and the demo shows the defaults.
KEPT = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR")


class DemoError(Exception):
    """A step of the demo failed; the message says which and shows what the program said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A program of this suite and its arguments."""

    program: str
    arguments: tuple[str, ...]

    def __str__(self) -> str:
        """Return the line that a person would type."""
        return " ".join((self.program, *self.arguments))


@dataclass(frozen=True, slots=True, kw_only=True)
class Programs:
    """Where the programs are, and the environment they start in."""

    directory: Path
    environ: Mapping[str, str]

    @classmethod
    def beside(cls, interpreter: str, environ: Mapping[str, str]) -> Programs:
        """Return the programs that are installed beside a Python interpreter."""
        kept = {name: environ[name] for name in KEPT if name in environ}
        return cls(directory=Path(interpreter).parent, environ=kept)

    def run(self, command: Command) -> str:
        """Run a program to its end and return what it printed; raises DemoError when it fails."""
        try:
            done = subprocess.run(
                self.argv(command),
                env=self.environ,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
                timeout=RUN_TIMEOUT,
            )
        except subprocess.TimeoutExpired as error:
            raise DemoError(f"`{command}` did not end within {RUN_TIMEOUT:g} s.") from error
        if done.returncode:
            raise DemoError(f"`{command}` ended with {done.returncode}:\n{tail(done.stderr)}")
        return done.stdout

    @contextmanager
    def start(self, command: Command, *, log: Path) -> Iterator[Running]:
        """Start a program that runs as long as the block does, with its output in `log`."""
        with Service(self, command, log=log) as service:
            yield service

    def argv(self, command: Command) -> Sequence[str]:
        """Return the words to start a program with; raises DemoError when it is not installed."""
        path = self.directory / command.program
        if not path.exists():
            raise DemoError(f"{command.program} is not installed beside {sys.executable}. Run `make sync`.")
        return (str(path), *command.arguments)


class Running(Protocol):
    """A program that runs until it is stopped."""

    @property
    def command(self) -> Command:
        """How it was started."""

    def check(self) -> None:
        """Raise DemoError when it has ended, with the last lines of its log."""

    def wait_for_line(self, wanted: Callable[[Mapping[str, Any]], bool], *, timeout: float) -> Mapping[str, Any]:
        """Wait for such a line of its log; raises TimeoutError when there is none after so many seconds."""

    def stop(self) -> int:
        """Let it end, and return its exit code."""

    def log_tail(self) -> str:
        """Return the last lines of its log."""


class Service:
    """A program that runs as a process until it is stopped. Its output goes to `log`."""

    def __init__(self, programs: Programs, command: Command, *, log: Path) -> None:
        self._command = command
        self._log = log
        self._output: IO[bytes] = log.open("wb")
        self._process = subprocess.Popen(
            programs.argv(command),
            env=programs.environ,
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=subprocess.STDOUT,
        )

    @property
    def command(self) -> Command:
        """How it was started."""
        return self._command

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    def check(self) -> None:
        """Raise DemoError when the program has ended, with the last lines of its log."""
        code = self._process.poll()
        if code is not None:
            raise DemoError(f"`{self.command}` ended with {code}:\n{self.log_tail()}")

    def wait_for_line(self, wanted: Callable[[Mapping[str, Any]], bool], *, timeout: float) -> Mapping[str, Any]:
        """Wait for a line of the log that is such an object; raises TimeoutError when there is none in time."""
        deadline = time.monotonic() + timeout
        while True:
            for line in self._log.read_text(encoding="utf-8", errors="replace").splitlines():
                document = _json(line)
                if document is not None and wanted(document):
                    return document
            if time.monotonic() > deadline:
                raise TimeoutError(f"`{self.command}` did not log what it should.")
            time.sleep(_LOOK)

    def stop(self) -> int:
        """Ask the program to end, end it by force when it does not, and return its exit code."""
        self._process.terminate()
        try:
            return self._process.wait(STOP_TIMEOUT)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()

    def log_tail(self) -> str:
        """Return the last lines of the program's log."""
        return tail(self._log.read_text(encoding="utf-8", errors="replace"))

    def __enter__(self) -> Self:
        """Return the running program."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the program, whatever happened."""
        self.stop()
        self._output.close()


def _json(line: str) -> Mapping[str, Any] | None:
    try:
        document = json.loads(line)
    except ValueError:
        return None
    return document if isinstance(document, dict) else None


def tail(text: str) -> str:
    """Return the last lines of a text, indented; a note when there are none."""
    lines = text.strip().splitlines()[-TAIL:] or ["(it printed nothing)"]
    return "\n".join(f"    {line}" for line in lines)
