"""Finds and loads the driver's libraries: the one search of every program, and of CDI.

Below the driver root: the directories that the user names, those that distributions use, those of the root's own
`ld.so.cache`, and those of its `ld.so.conf.d`. Behind it: our own loader, which knows LD_LIBRARY_PATH.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import islice
from posixpath import basename, join
from typing import Any

from gpu_core.devices import ldcache
from gpu_core.devices.file_root import FileRoot
from gpu_core.files import read_regular

DIRECTORIES = (
    "/",
    "/usr/lib64",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu/nvidia/current",
    "/usr/lib/aarch64-linux-gnu/nvidia/current",
    "/lib64",
    "/lib/x86_64-linux-gnu",
    "/lib/aarch64-linux-gnu",
    "/lib/x86_64-linux-gnu/nvidia/current",
    "/lib/aarch64-linux-gnu/nvidia/current",
)
"""Where distributions and driver containers keep the driver's libraries, in the order in which they are looked for."""

FLAG = "--driver-library-path"
"""What names other directories."""

LOADER = "the loader's own path (LD_LIBRARY_PATH, and the ld.so.cache of this container)"

_CACHE = "/etc/ld.so.cache"
_CONFIGURATIONS = "/etc/ld.so.conf.d"
_LARGEST_CACHE = 16 * 1024 * 1024
_LARGEST_CONFIGURATION = 64 * 1024
_MOST_CONFIGURATIONS = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class LibrarySearch:
    """Where libraries are looked for below one root: `root` as our process sees it, `named` the user's directories."""

    root: str
    named: tuple[str, ...] = ()

    def first(self, pattern: str) -> tuple[str, ...]:
        """Return the root's paths, without links, of the files that match, from the first place that has any."""
        root = FileRoot(self.root)
        if found := root.real_files(self._usual, pattern):
            return found
        if found := self._cached(pattern):
            return found
        return root.real_files(self._configured(), pattern)

    def each(self, name: str) -> Iterator[str]:
        """Yield where our process sees each library of that name, from every place in order, once and without links."""
        root = FileRoot(self.root)
        told = set()
        for path in self.entries(name):
            real = root.resolve(path)
            if real is not None and real not in told and root.is_file(real):
                told.add(real)
                yield root.seen(real)

    def entries(self, name: str) -> Iterator[str]:
        """Yield the root's paths at which there may be a library of that name; links, and those that lead nowhere too.

        What follows the usual places is read only when it is asked for.
        """
        yield from (join(directory, name) for directory in self._usual)
        yield from (path for path in self._libraries() if basename(path) == name)
        yield from (join(directory, name) for directory in self._configured())

    def searched(self) -> str:
        """Return the places below the root for a message: `the driver root /driver-root (/usr/lib64, …)`."""
        if not FileRoot(self.root).is_directory("/"):
            return f"the driver root {self.root} (which is not there)"
        cached, configured = len(self._libraries()), self._configured()
        cache = f"the {cached} libraries of its ld.so.cache" if cached else "no library of its ld.so.cache"
        others = f"{', '.join(configured)} of its ld.so.conf.d" if configured else "no directory of its ld.so.conf.d"
        return f"the driver root {self.root} ({', '.join(self._usual)}; {cache}; {others})"

    @property
    def _usual(self) -> tuple[str, ...]:
        return (*self.named, *DIRECTORIES)

    def _cached(self, pattern: str) -> tuple[str, ...]:
        root = FileRoot(self.root)
        chains = [path for entry in self._libraries() for path in (entry, root.resolve(entry))]
        matching = [path for path in chains if path is not None and fnmatchcase(basename(path), pattern)]
        resolved = (root.resolve(path) for path in matching)
        return tuple(dict.fromkeys(path for path in resolved if path is not None))

    def _libraries(self) -> tuple[str, ...]:
        return ldcache.libraries(self._read(_CACHE, most=_LARGEST_CACHE))

    def _configured(self) -> tuple[str, ...]:
        """Return the directories of the root's loader configuration that the usual ones do not have."""
        root = FileRoot(self.root)
        files = islice(root.glob(_CONFIGURATIONS, "*.conf"), _MOST_CONFIGURATIONS)
        texts = [self._read(path, most=_LARGEST_CONFIGURATION).decode("utf-8", "replace") for path in files]
        found = dict.fromkeys(directory for text in texts for directory in ldcache.directories(text))
        return tuple(directory for directory in found if directory not in self._usual)

    def _read(self, path: str, *, most: int) -> bytes:
        root = FileRoot(self.root)
        real = root.resolve(path)
        try:
            return b"" if real is None else read_regular(root.seen(real), most=most)
        except OSError:
            return b""


def candidates(name: str, search: LibrarySearch | None) -> Iterator[str]:
    """Yield what to load, in order: the root's libraries of that name, then the name alone, for the loader."""
    if search is not None:
        yield from search.each(name)
    yield name


def load(paths: Iterable[str], loader: Callable[[str], Any]) -> tuple[Any | None, tuple[tuple[str, str], ...]]:
    """Return the first library that loads, None when none does, and each path before it with the reason.

    `loader` raises OSError for a library that cannot be loaded.
    """
    failures: list[tuple[str, str]] = []
    for path in paths:
        try:
            return loader(path), tuple(failures)
        except OSError as error:
            failures.append((path, str(error)))
    return None, tuple(failures)
