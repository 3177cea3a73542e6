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
from gpu_core.files import read_regular, write_atomically
from gpu_core.mps import HEALTH_QUESTION, STARTING, DaemonPlan, MpsRoot, refusal, shortcomings, unanswered
from gpu_core.mps.marks import MOST, read, written
from mps_control_daemon.commands import Command, ask_daemon, limit_lines, start_daemon
from mps_control_daemon.machine import COMMAND, Machine
from mps_control_daemon.processes import PID_FILE, control_daemon, servers

CONTAINER_FILES = "system_u:object_r:container_file_t:s0"
"""The SELinux label of files that any container may use."""

_ATTRIBUTE = "security.selinux"


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
            running = read(read_regular(self._mark, most=MOST).decode())
        except (OSError, ValueError):
            return None
        if running is None or shortcomings(running, plan) or self.unanswered() is not None:
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
            reason = self.unanswered()
            if reason is not None:
                raise MpsError(f"The MPS control daemon of {self.resource} was started, but {reason}.")
            # What the daemon has put there since is to be reached from containers too.
            relabel(self._pipe, self.machine.sys)
            self._write_mark(written(plan))
        except SuiteError:
            with contextlib.suppress(SuiteError):
                self.stop()
            raise

    def unanswered(self, *, within: float = COMMAND) -> str | None:
        """Ask the daemon a question, for so many seconds; return what is wrong with it, None when nothing is."""
        try:
            answer = self.machine.run(ask_daemon(self.resource, self.root, HEALTH_QUESTION), within)
        except SuiteError as error:
            return f"it does not answer: {str(error).rstrip('.')}"
        return unanswered(answer.returncode, answer.stdout, answer.stderr)

    def has_died(self) -> bool:
        """Whether the daemon's process is known to have ended; a few looks at files tell."""
        return (self._pipe / PID_FILE).exists() and control_daemon(self._pipe, self.machine.proc) is None

    def stop(self) -> None:
        """End the daemon: ask it to quit, wait, then end its process, as long as the machine's grace; remove its mark.

        Several daemons may be stopped at the same time, by a thread each. Raises MpsError when it does not end.
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
        grace, asked = self.machine.grace, time.monotonic()
        pid = control_daemon(self._pipe, self.machine.proc)
        try:
            answer = self.machine.run(ask_daemon(self.resource, self.root, "quit"), grace.quit)
            answered = refusal(answer.returncode, answer.stdout, answer.stderr) is None
        except SuiteError:
            # A daemon that cannot be asked is ended all the same.
            answered = False
        if pid is None and answered and not self._falls_silent(asked + grace.quit):
            raise MpsError(
                f"The MPS control daemon of {self.resource} does not quit, and which process it is, is unknown."
            )
        for number, until in ((signal.SIGTERM, grace.quit), (signal.SIGKILL, grace.terminate)):
            if self._wait(lambda: not self._alive(pid), until=asked + until):
                return
            for process in (*self._alive(pid), *servers(self._pipe, self.machine.proc)):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, number)
        if not self._wait(lambda: not self._alive(pid), until=asked + grace.give_up):
            alive = ", ".join(map(str, self._alive(pid)))
            raise MpsError(f"MPS processes of {self.resource} do not end: {alive}. Look at them on the node.")

    def _falls_silent(self, until: float) -> bool:
        within = max(0.0, until - time.monotonic())
        return self._wait(lambda: self.unanswered(within=within) is not None, until=until)

    def _alive(self, pid: int | None) -> tuple[int, ...]:
        """Return the control daemon while it runs; once it has ended, servers that it has left.

        Those whose daemon was killed would keep the GPUs for themselves.
        """
        if pid is not None and control_daemon(self._pipe, self.machine.proc) == pid:
            return (pid,)
        return servers(self._pipe, self.machine.proc)

    def _wait(self, condition: Callable[[], bool], *, until: float) -> bool:
        return self.machine.interruption.wait_for(condition, until=until)

    def _run(self, command: Command, failure: str) -> None:
        done = self.machine.run(command, COMMAND)
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


def relabel(directory: Path, sys_root: Path) -> None:
    """Label a directory and all that is in it, where SELinux is on; raise MpsError when that is refused."""
    if not (sys_root / "fs" / "selinux").exists():
        return
    for path in (directory, *sorted(directory.rglob("*"))):
        try:
            os.setxattr(path, _ATTRIBUTE, CONTAINER_FILES.encode() + b"\0", follow_symlinks=False)
        except FileNotFoundError:
            # Pipes come and go with the daemon.
            continue
        except OSError as error:
            raise MpsError(
                f"{path} cannot be labelled {CONTAINER_FILES}: {error.strerror}. Run the daemon's container privileged."
            ) from error
