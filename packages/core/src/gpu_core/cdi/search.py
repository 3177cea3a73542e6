"""Looks for files below a root, never outside of it: links are followed as if the root were `/`."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from posixpath import basename, dirname, join, normpath

from gpu_core.cdi.driver_files import CharDevice, File

_MOST_LINKS = 40


@dataclass(frozen=True, slots=True)
class Root:
    """A directory that holds a file system of its own, such as a mounted driver root."""

    path: str

    def seen(self, path: str) -> str:
        """Return where our process sees the root's `path`."""
        return normpath(join(self.path, path.lstrip("/")))

    def file(self, path: str) -> File:
        """Return both paths of a file of this root."""
        return File(seen=self.seen(path), path=normpath(path))

    def resolve(self, path: str) -> str | None:
        """Return the path without links that `path` leads to within the root; None when it leads nowhere."""
        pending = [part for part in reversed(path.split("/")) if part]
        done: list[str] = []
        links = 0
        while pending:
            part = pending.pop()
            if part == ".":
                continue
            if part == "..":
                done[-1:] = []
                continue
            here = "/" + "/".join([*done, part])
            try:
                mode = Path(self.seen(here)).lstat().st_mode
            except OSError:
                return None
            if not stat.S_ISLNK(mode):
                done.append(part)
                continue
            links += 1
            if links > _MOST_LINKS:
                return None
            target = str(Path(self.seen(here)).readlink())
            if target.startswith("/"):
                done.clear()
            pending.extend(part for part in reversed(target.split("/")) if part)
        return "/" + "/".join(done)

    def glob(self, directory: str, pattern: str) -> Iterator[str]:
        """Yield the paths below `directory` whose last part matches `pattern`, sorted by name."""
        folder = normpath(join("/", directory.lstrip("/"), dirname(pattern)))
        real = self.resolve(folder)
        if real is None:
            return
        try:
            names = sorted(entry.name for entry in Path(self.seen(real)).iterdir())
        except OSError:
            return
        for name in names:
            if fnmatchcase(name, basename(pattern)):
                yield join(folder, name)

    def files(self, directories: Iterable[str], pattern: str, *, executable: bool = False) -> Iterator[str]:
        """Yield the paths of all files that match in these directories, in their order."""
        for directory in dict.fromkeys(directories):
            for path in self.glob(directory, pattern):
                mode = self._mode(path)
                if mode is None or stat.S_ISDIR(mode) or (executable and not mode & 0o111):
                    continue
                yield path

    def real_files(self, directories: Iterable[str], pattern: str) -> tuple[str, ...]:
        """Return the paths without links of all files that match, each once."""
        resolved = (self.resolve(path) for path in self.files(directories, pattern))
        return tuple(dict.fromkeys(path for path in resolved if path is not None))

    def is_directory(self, path: str) -> bool:
        """Whether the root has a directory there."""
        mode = self._mode(path)
        return mode is not None and stat.S_ISDIR(mode)

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

    def _mode(self, path: str) -> int | None:
        real = self.resolve(path)
        if real is None:
            return None
        try:
            return Path(self.seen(real)).stat().st_mode
        except OSError:
            return None
