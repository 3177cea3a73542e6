"""Passes on what a control daemon writes into its log file."""

from __future__ import annotations

import codecs
import os
from collections.abc import Callable
from pathlib import Path

from gpu_core.files import open_regular

_MOST_AT_ONCE = 1 << 20
_READS_AT_THE_END = 16
_LONGEST = 64 * 1024
"""Characters of a line that are waited for; what is longer is passed on in parts."""


class LogTail:
    """Follows one file from its beginning; `write` is given whole lines, of a line without end its parts.

    The file may be missing for a while, be replaced, or be cut off: then it is read from its beginning again, and what
    was left of the former one is a line of its own.
    """

    def __init__(self, file: Path, write: Callable[[str], object]) -> None:
        self._file = file
        self._write = write
        self._inode = -1
        self._place = 0
        self._rest = ""
        self._decoder = _decoder()

    def forward(self, *, to_the_end: bool = False) -> None:
        """Pass on what was added since the last call; a line that is not finished yet waits, unless this is the end."""
        for _ in range(_READS_AT_THE_END if to_the_end else 1):
            added = self._added()
            self._pass_on(self._decoder.decode(added))
            if not added:
                break
        if to_the_end:
            self._end_line()

    def _added(self) -> bytes:
        try:
            descriptor = open_regular(self._file)
        except OSError:
            return b""
        try:
            status = os.fstat(descriptor)
            if status.st_ino != self._inode or status.st_size < self._place:
                self._end_line()
                self._inode, self._place = status.st_ino, 0
            added = os.pread(descriptor, _MOST_AT_ONCE, self._place)
        except OSError:
            return b""
        finally:
            os.close(descriptor)
        self._place += len(added)
        return added

    def _pass_on(self, text: str) -> None:
        lines, line_end, self._rest = (self._rest + text).rpartition("\n")
        if line_end:
            self._write(lines + line_end)
        while len(self._rest) > _LONGEST:
            self._write(self._rest[:_LONGEST] + "\n")
            self._rest = self._rest[_LONGEST:]

    def _end_line(self) -> None:
        self._pass_on(self._decoder.decode(b"", final=True))
        self._decoder = _decoder()
        if self._rest:
            self._write(self._rest + "\n")
        self._rest = ""


def _decoder() -> codecs.IncrementalDecoder:
    # A read may end within a character.
    return codecs.getincrementaldecoder("utf-8")("replace")
