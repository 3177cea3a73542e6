"""Looks for files below a root, never outside of it: links are followed as if the root were `/`."""

from __future__ import annotations

import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from posixpath import basename, dirname, join, normpath

_MOST_LINKS = 40


@dataclass(frozen=True, slots=True)
class FileRoot:
    """A directory that holds a file system of its own, such as a mounted driver root."""

    path: str

    def seen(self, path: str) -> str:
        """Return where our process sees the root's `path`."""
        return normpath(join(self.path, path.lstrip("/")))

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
            target = _target(self.seen("/" + "/".join([*done, part])))
            if target is None:
                return None
            if not target:
                done.append(part)
                continue
            links += 1
            if links > _MOST_LINKS:
                return None
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

    def is_file(self, path: str) -> bool:
        """Whether the root has a regular file there, which may be opened without waiting for anybody."""
        mode = self._mode(path)
        return mode is not None and stat.S_ISREG(mode)

    def is_directory(self, path: str) -> bool:
        """Whether the root has a directory there."""
        mode = self._mode(path)
        return mode is not None and stat.S_ISDIR(mode)

    def _mode(self, path: str) -> int | None:
        real = self.resolve(path)
        if real is None:
            return None
        try:
            return Path(self.seen(real)).stat().st_mode
        except OSError:
            return None


def _target(path: str) -> str | None:
    """Return what a link holds, an empty text for what is no link, and None for what is not there."""
    try:
        mode = Path(path).lstat().st_mode
        return str(Path(path).readlink()) if stat.S_ISLNK(mode) else ""
    except (OSError, ValueError):
        # A path in a file of another may hold what no path can hold.
        return None
