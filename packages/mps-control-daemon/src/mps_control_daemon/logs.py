"""Passes on what a control daemon writes into its log file."""

from __future__ import annotations

import codecs
from collections.abc import Callable
from pathlib import Path

_MOST_AT_ONCE = 1 << 20


class LogTail:
    """Follows one file from its beginning; `write` is given whole lines.

    The file may be missing for a while, be replaced, or be cut off: then it is read from its beginning again.
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
        try:
            with self._file.open("rb") as stream:
                status = self._file.stat()
                if status.st_ino != self._inode or status.st_size < self._place:
                    self._begin(status.st_ino)
                stream.seek(self._place)
                added = stream.read(_MOST_AT_ONCE)
        except OSError:
            added = b""
        self._place += len(added)
        lines, line_end, self._rest = (self._rest + self._decoder.decode(added)).rpartition("\n")
        if line_end:
            self._write(lines + line_end)
        if to_the_end and self._rest:
            self._write(self._rest + "\n")
            self._rest = ""

    def _begin(self, inode: int) -> None:
        self._inode = inode
        self._place = 0
        self._decoder = _decoder()


def _decoder() -> codecs.IncrementalDecoder:
    # A read may end within a character.
    return codecs.getincrementaldecoder("utf-8")("replace")
