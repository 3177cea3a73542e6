"""Labels in a file that node-feature-discovery's local source reads."""

from __future__ import annotations

import stat
from collections.abc import Mapping
from pathlib import Path

from gpu_core.config.words import LabelFormat
from gpu_core.errors import PublishError
from gpu_core.runtime.files import write_atomically
from gpu_feature_discovery.formats import render


class FileOutput:
    """Replaces the file as a whole each time, so that no reader ever sees half of it."""

    def __init__(self, path: str, *, keep: bool) -> None:
        self._path = Path(path)
        self._keep = keep

    @property
    def place(self) -> str:
        """The file's path."""
        return str(self._path)

    def publish(self, labels: Mapping[str, str]) -> None:
        """Write the file, unless it already says the same."""
        data = render(labels, LabelFormat.LABELS).encode()
        if not self._may_replace():
            raise PublishError(
                f"The labels cannot be written to {self._path}, which is no regular file. "
                "Name another file with --output-file; an empty name means standard output."
            )
        try:
            if self._holds(data):
                return
            write_atomically(self._path, data, mode=0o644)
        except FileNotFoundError as error:
            raise PublishError(
                f"The labels cannot be written to {self._path}: the directory {self._path.parent} does not exist. "
                "Create or mount it, or name another file with --output-file."
            ) from error
        except OSError as error:
            raise PublishError(
                f"The labels cannot be written to {self._path}: {error.strerror or error}. "
                "Make that possible, or name another file with --output-file."
            ) from error

    def withdraw(self) -> None:
        """Remove the file, so that no labels outlive the program that would keep them right."""
        if self._keep or not self._may_replace():
            return
        try:
            self._path.unlink(missing_ok=True)
        except OSError as error:
            raise PublishError(f"The label file {self._path} cannot be removed: {error.strerror}.") from error

    def _may_replace(self) -> bool:
        """Whether the path is free or a regular file: a directory, a pipe or `/dev/null` is not ours to replace."""
        try:
            return stat.S_ISREG(self._path.stat().st_mode)
        except OSError:
            return True

    def _holds(self, data: bytes) -> bool:
        try:
            return self._path.read_bytes() == data
        except OSError:
            return False
