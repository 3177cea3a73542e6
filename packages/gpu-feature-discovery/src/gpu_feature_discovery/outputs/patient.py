"""Standard output for a program that stays: whoever reads it may stop, and must not keep it from all else."""

from __future__ import annotations

import errno
import threading
from typing import TextIO

from gpu_core.runtime.outlet import write_all

PATIENCE = 2.0
"""Seconds that a reader has for what is printed; a signal is answered after them at the latest."""


class PatientStream:
    """Writes texts to a descriptor one after the other, and raises TimeoutError for one that is not taken in time.

    That one goes on being written, by a thread that is left behind if need be; until it is out, no other begins, so
    that a reader who comes back finds whole texts. It is not repeated where it is the next one, too.
    """

    def __init__(self, descriptor: int, *, patience: float = PATIENCE) -> None:
        self._descriptor = descriptor
        self.patience = patience
        """Seconds that a reader has."""
        self._late: _Writing | None = None

    def write(self, text: str) -> int:
        """Write all of a text. Raises OSError."""
        late, self._late = self._late, None
        if late is not None:
            self._wait_for(late)
            if late.text == text and late.error is None:
                return len(text)
        writing = _Writing(self._descriptor, text)
        try:
            writing.start()
        except RuntimeError as error:
            raise OSError(errno.EAGAIN, f"there is no thread to write it: {error}") from error
        self._wait_for(writing)
        if writing.error is not None:
            raise writing.error
        return len(text)

    def flush(self) -> None:
        """Nothing is held back."""

    def _wait_for(self, writing: _Writing) -> None:
        writing.join(self.patience)
        if writing.is_alive():
            self._late = writing
            raise TimeoutError(errno.ETIMEDOUT, f"nobody has read it for {self.patience:g} s")


class _Writing(threading.Thread):
    """One text on its way out."""

    def __init__(self, descriptor: int, text: str) -> None:
        super().__init__(name="printing", daemon=True)
        self.text = text
        self.error: OSError | None = None
        self._descriptor = descriptor

    def run(self) -> None:
        try:
            write_all(self._descriptor, self.text.encode())
        except OSError as error:
            self.error = error


def patiently(stream: TextIO | None) -> TextIO | PatientStream | None:
    """Return what takes texts for a stream without waiting for ever; one that is not the process's own stays."""
    try:
        return stream if stream is None else PatientStream(stream.fileno())
    except (AttributeError, OSError, ValueError):
        return stream
