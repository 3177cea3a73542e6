"""Labels in a file that node-feature-discovery's local source reads."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path

from gpu_core.config.words import LabelFormat
from gpu_core.errors import PublishError
from gpu_core.files import read_regular, write_atomically
from gpu_feature_discovery.outputs.text import looks_like_ours, render

_LARGEST = 1 << 20
"""Bytes of a file that may still hold labels of ours; a node has a few thousand."""


class FileOutput:
    """Replaces the file as a whole each time, so that no reader ever sees half of it."""

    feeds_nfd = True
    grace = 0.0

    def __init__(self, path: str, *, keep: bool) -> None:
        self._path = Path(path)
        self._keep = keep

    @property
    def place(self) -> str:
        """The file's path."""
        return str(self._path)

    @property
    def parts(self) -> tuple[FileOutput, ...]:
        """Itself."""
        return (self,)

    @property
    def active(self) -> FileOutput:
        """Itself."""
        return self

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
        if not self._keep and self._may_replace():
            self._remove()

    def take_back(self, inherited: Mapping[str, str], *, known: bool) -> bool:  # noqa: ARG002  NFD forgets the file
        """Remove the file, also one that was to be kept: labels go elsewhere now."""
        return (self._may_replace() if known else self._is_ours()) and self._remove()

    def _remove(self) -> bool:
        """Remove the file and return whether there was one."""
        try:
            self._path.unlink()
        except FileNotFoundError:
            return False
        except OSError as error:
            raise PublishError(f"The label file {self._path} cannot be removed: {error.strerror}.") from error
        return True

    def _may_replace(self) -> bool:
        """Whether the path is free or a regular file: a directory, a pipe or `/dev/null` is not ours to replace."""
        try:
            return stat.S_ISREG(self._path.stat().st_mode)
        except OSError:
            return True

    def _holds(self, data: bytes) -> bool:
        try:
            return read_regular(self._path, most=len(data)) == data
        except OSError:
            return False

    def _is_ours(self) -> bool:
        """Whether the path itself is a regular file, no link to one, that holds labels as only we write them."""
        try:
            descriptor = os.open(self._path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return False
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return False
            try:
                text = file.read(_LARGEST + 1)
            except OSError:
                return False
        return len(text) <= _LARGEST and looks_like_ours(text.decode(errors="replace"))
