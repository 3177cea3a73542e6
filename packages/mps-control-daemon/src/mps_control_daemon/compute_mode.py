"""Changes the compute mode of GPUs and gives them back the one they had.

The modes found are written down before they are changed, so that they can be restored even after a crash of ours.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from gpu_core.errors import MpsError, SuiteError
from gpu_core.files import read_regular, write_atomically
from gpu_core.runtime.process import Completed
from mps_control_daemon.commands import (
    DEFAULT,
    EXCLUSIVE_PROCESS,
    MODES,
    compute_mode,
    query_compute_mode,
    set_compute_mode,
)
from mps_control_daemon.machine import COMMAND, Machine

_MOST = 1 << 20
"""Bytes; some 60 are written down for each GPU."""


class ComputeModes:
    """The compute modes that GPUs had before we changed them, kept in a file."""

    def __init__(self, file: Path, machine: Machine, warn: Callable[[str], object]) -> None:
        self._file = file
        self._machine = machine
        self._warn = warn
        self._found = _read(file)

    def make_exclusive(self, uuids: Iterable[str]) -> None:
        """Let these GPUs take the MPS server only. Raises SuiteError where that fails."""
        uuids = tuple(uuids)
        for uuid in uuids:
            if uuid not in self._found:
                self._found[uuid] = self._ask(uuid)
        self._write()
        for uuid in uuids:
            self._set(uuid, EXCLUSIVE_PROCESS)

    def restore(self, uuids: Iterable[str]) -> None:
        """Give these GPUs the mode back that they had, all at once; those that fail are warned of.

        A GPU that does not answer must not keep the others waiting.
        """
        within = self._machine.grace.restore
        modes = {uuid: self._found[uuid] for uuid in uuids if uuid in self._found}
        jobs = {uuid: partial(self._set, uuid, mode, within) for uuid, mode in modes.items()}
        # The commands end by themselves; this is for one that cannot even be killed.
        failures = self._machine.interruption.together(jobs, within=within + 2)
        restored = modes.keys() - failures.keys()
        for uuid in restored:
            del self._found[uuid]
        if restored:
            try:
                self._write()
            except SuiteError as error:
                self._warn(f"That compute modes were restored cannot be noted, so they will be again: {error}")
        for uuid, failure in sorted(failures.items()):
            # It stays written down, so that the next stop or start tries again.
            self._warn(f"The compute mode of {uuid} was not restored to {modes[uuid]}: {failure}")

    def left_over(self, uuids: Iterable[str]) -> tuple[str, ...]:
        """Return the GPUs whose mode was changed, perhaps by an earlier run, and that are not among these."""
        return tuple(sorted(set(self._found) - set(uuids)))

    def _ask(self, uuid: str) -> str:
        done = self._machine.run(query_compute_mode(uuid), COMMAND)
        mode = compute_mode(done.stdout) if done.returncode == 0 else None
        if mode is None:
            self._warn(f"The compute mode of {uuid} is unknown, so it will become {DEFAULT} again: {_said(done)}")
            return DEFAULT
        return mode

    def _set(self, uuid: str, mode: str, within: float = COMMAND) -> None:
        done = self._machine.run(set_compute_mode(uuid, mode), within)
        if done.returncode != 0:
            raise MpsError(f"nvidia-smi could not set the compute mode of {uuid} to {mode}: {_said(done)}")

    def _write(self) -> None:
        try:
            if self._found:
                write_atomically(self._file, json.dumps(self._found, sort_keys=True).encode())
            else:
                self._file.unlink(missing_ok=True)
        except OSError as error:
            raise MpsError(f"{self._file} cannot be written: {error.strerror}.") from error


def _read(file: Path) -> dict[str, str]:
    """Return what was written down; a file that cannot be understood says nothing."""
    try:
        found = json.loads(read_regular(file, most=_MOST))
    except (OSError, ValueError):
        return {}
    if not isinstance(found, dict):
        return {}
    return {uuid: mode for uuid, mode in found.items() if isinstance(mode, str) and mode in MODES}


def _said(done: Completed) -> str:
    return (done.stderr.strip() or done.stdout.strip() or f"exit code {done.returncode}").splitlines()[-1]
