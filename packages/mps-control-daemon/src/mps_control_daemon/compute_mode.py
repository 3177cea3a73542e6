"""Changes the compute mode of GPUs and gives them back the one they had.

The modes found are written down before they are changed, so that they can be restored even after a crash of ours.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path

from gpu_core.errors import MpsError, SuiteError
from gpu_core.runtime.files import write_atomically
from gpu_core.runtime.process import Completed
from mps_control_daemon.commands import (
    DEFAULT,
    EXCLUSIVE_PROCESS,
    MODES,
    compute_mode,
    query_compute_mode,
    set_compute_mode,
)
from mps_control_daemon.daemon import Run


class ComputeModes:
    """The compute modes that GPUs had before we changed them, kept in a file."""

    def __init__(self, file: Path, run: Run, warn: Callable[[str], object]) -> None:
        self._file = file
        self._run = run
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

    def restore(self, uuids: Iterable[str] | None = None) -> None:
        """Give these GPUs, or all of them, the mode back that they had; a GPU that fails is warned of."""
        for uuid in tuple(self._found) if uuids is None else tuple(uuids):
            mode = self._found.get(uuid)
            if mode is None:
                continue
            try:
                self._set(uuid, mode)
                del self._found[uuid]
                self._write()
            except SuiteError as error:
                # It stays written down, so that the next stop or start tries again.
                self._warn(f"The compute mode of {uuid} was not restored to {mode}: {error}")

    def left_over(self, uuids: Iterable[str]) -> tuple[str, ...]:
        """Return the GPUs whose mode was changed, perhaps by an earlier run, and that are not among these."""
        return tuple(sorted(set(self._found) - set(uuids)))

    def _ask(self, uuid: str) -> str:
        done = self._run(query_compute_mode(uuid))
        mode = compute_mode(done.stdout) if done.returncode == 0 else None
        if mode is None:
            self._warn(f"The compute mode of {uuid} is unknown, so it will become {DEFAULT} again: {_said(done)}")
            return DEFAULT
        return mode

    def _set(self, uuid: str, mode: str) -> None:
        done = self._run(set_compute_mode(uuid, mode))
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
        found = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    if not isinstance(found, dict):
        return {}
    return {uuid: mode for uuid, mode in found.items() if isinstance(mode, str) and mode in MODES}


def _said(done: Completed) -> str:
    return (done.stderr.strip() or done.stdout.strip() or f"exit code {done.returncode}").splitlines()[-1]
