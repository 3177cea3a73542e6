"""Starts, asks and stops the control daemon of one resource."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gpu_core.errors import MpsError, SuiteError
from gpu_core.mps import HEALTH_QUESTION, STARTING, DaemonPlan, MpsRoot, illness, refusal, shortcomings
from gpu_core.mps.marks import read, written
from gpu_core.runtime.files import write_atomically
from gpu_core.runtime.process import Completed
from mps_control_daemon.commands import Command, ask_daemon, limit_lines, start_daemon
from mps_control_daemon.processes import PID_FILE, control_daemon, servers
from mps_control_daemon.selinux import relabel

Run = Callable[[Command], Completed]
"""Runs a command to its end; raises ProcessError when that is impossible or takes too long."""

_LOOK = 0.05
"""Seconds between two looks at a process that is to end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """What a daemon's life depends on: how commands are run, and where the kernel's files are.

    `patience` is how many seconds a daemon has to end after it was asked to, and again after each signal.
    """

    run: Run
    patience: float = 5.0
    sys: Path = Path("/sys")
    proc: Path = Path("/proc")


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlDaemon:
    """The control daemon of one resource, running or not."""

    resource: str
    root: MpsRoot
    machine: Machine

    @property
    def log(self) -> Path:
        """The file into which the daemon writes what it does."""
        return Path(self.root.log(self.resource)) / "control.log"

    def adopt(self, plan: DaemonPlan) -> DaemonPlan | None:
        """Return the plan of a daemon that runs since before a crash of ours, if it serves what `plan` asks for."""
        try:
            running = read(self._mark.read_text("utf-8"))
        except (OSError, ValueError):
            return None
        if running is None or shortcomings(running, plan) or self.illness() is not None:
            return None
        return running

    def start(self, plan: DaemonPlan) -> None:
        """Start the daemon and set its limits. Raises SuiteError, and leaves nothing running, when a step fails."""
        self.stop()
        self.remove_logs()
        log = Path(self.root.log(self.resource))
        for directory in (self._pipe, log):
            _make_directory(directory)
        try:
            # Whoever asks the daemon from now on must not take it for one without limits.
            self._write_mark(STARTING)
            relabel(self._pipe, self.machine.sys)
            self._run(start_daemon(plan, self.root), "could not be started")
            for line in limit_lines(plan):
                self._run(ask_daemon(self.resource, self.root, line), f"refused `{line}`")
            ill = self.illness()
            if ill is not None:
                raise MpsError(f"The MPS control daemon of {self.resource} was started, but {ill}.")
            # What the daemon has put there since is to be reached from containers too.
            relabel(self._pipe, self.machine.sys)
            self._write_mark(written(plan))
        except SuiteError:
            with contextlib.suppress(SuiteError):
                self.stop()
            raise

    def illness(self) -> str | None:
        """Ask the daemon a question; return what is wrong with it, None when nothing is."""
        try:
            answer = self.machine.run(ask_daemon(self.resource, self.root, HEALTH_QUESTION))
        except SuiteError as error:
            return f"it does not answer: {str(error).rstrip('.')}"
        return illness(answer.returncode, answer.stdout, answer.stderr)

    def has_died(self) -> bool:
        """Whether the daemon's process is known to have ended; a few looks at files tell."""
        return (self._pipe / PID_FILE).exists() and control_daemon(self._pipe, self.machine.proc) is None

    def stop(self) -> None:
        """End the daemon: ask it to quit, wait, then end its process; remove its mark.

        Raises MpsError when it does not end.
        """
        if self._pipe.is_dir():
            self._quit()
        try:
            self._mark.unlink(missing_ok=True)
        except OSError as error:
            raise MpsError(f"{self._mark} cannot be removed: {error.strerror}.") from error

    def remove_logs(self) -> None:
        """Remove what the daemon has logged."""
        shutil.rmtree(self.root.log(self.resource), ignore_errors=True)

    @property
    def _pipe(self) -> Path:
        return Path(self.root.pipe(self.resource))

    @property
    def _mark(self) -> Path:
        return Path(self.root.started(self.resource))

    def _quit(self) -> None:
        pid = control_daemon(self._pipe, self.machine.proc)
        try:
            answer = self.machine.run(ask_daemon(self.resource, self.root, "quit"))
            answered = refusal(answer.returncode, answer.stdout, answer.stderr) is None
        except SuiteError:
            # A daemon that cannot be asked is ended all the same.
            answered = False
        if pid is not None:
            self._end(lambda: [pid] if control_daemon(self._pipe, self.machine.proc) == pid else [])
        elif answered and not _comes_true(lambda: self.illness() is not None, self.machine.patience):
            raise MpsError(
                f"The MPS control daemon of {self.resource} does not quit, and which process it is, is unknown."
            )
        # Servers whose daemon was killed would keep the GPUs for themselves.
        self._end(lambda: servers(self._pipe, self.machine.proc))

    def _end(self, alive: Callable[[], list[int] | tuple[int, ...]]) -> None:
        """Wait for processes to end by themselves, then make them."""
        patience = self.machine.patience
        for number in (signal.SIGTERM, signal.SIGKILL):
            if _comes_true(lambda: not alive(), patience):
                return
            for pid in alive():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)
        if _comes_true(lambda: not alive(), patience):
            return
        raise MpsError(
            f"MPS processes of {self.resource} do not end: {', '.join(map(str, alive()))}. Look at them on the node."
        )

    def _run(self, command: Command, failure: str) -> None:
        done = self.machine.run(command)
        refused = refusal(done.returncode, done.stdout, done.stderr)
        if refused is not None:
            raise MpsError(f"The MPS control daemon of {self.resource} {failure}: {refused}.")

    def _write_mark(self, text: str) -> None:
        try:
            write_atomically(self._mark, text.encode())
        except OSError as error:
            raise MpsError(f"{self._mark} cannot be written: {error.strerror}.") from error


def _make_directory(directory: Path) -> None:
    try:
        directory.mkdir(mode=0o755, parents=True, exist_ok=True)
    except OSError as error:
        raise MpsError(
            f"{directory} cannot be created: {error.strerror}. Mount the MPS root there, writable."
        ) from error


def _comes_true(condition: Callable[[], bool], seconds: float) -> bool:
    """Wait at most so long for a condition."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(_LOOK)
    return True
