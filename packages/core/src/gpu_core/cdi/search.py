"""Finds the files of a driver below its root, with the paths that containers will have them at."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from posixpath import normpath

from gpu_core.cdi.driver_files import CharDevice, File
from gpu_core.devices.file_root import FileRoot


class Root(FileRoot):
    """A directory that holds a file system of its own, whose files containers are given."""

    __slots__ = ()

    def file(self, path: str) -> File:
        """Return both paths of a file of this root."""
        return File(seen=self.seen(path), path=normpath(path))

    def devices(self, pattern: str) -> Iterator[CharDevice]:
        """Yield the character devices that match, sorted by name; links to devices are none."""
        for path in self.glob("/", pattern.lstrip("/")):
            try:
                found = Path(self.seen(path)).lstat()
            except OSError:
                continue
            if stat.S_ISCHR(found.st_mode):
                yield CharDevice(
                    seen=self.seen(path),
                    path=path,
                    major=os.major(found.st_rdev),
                    minor=os.minor(found.st_rdev),
                    mode=stat.S_IMODE(found.st_mode),
                    gid=found.st_gid,
                )
