"""Finds the driver's management library, and puts it, or a stand-in, where the NVML binding keeps its own.

pynvml always loads `libnvidia-ml.so.1` by that name, but only when it has none yet; setting it first is how a
driver root of a driver container is honoured, and how a simulated node takes the library's place.
"""

from __future__ import annotations

import _ctypes
import ctypes
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pynvml

LIBRARY = "libnvidia-ml.so.1"

DIRECTORIES = (
    "/usr/lib64",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/lib64",
    "/lib/x86_64-linux-gnu",
    "/lib/aarch64-linux-gnu",
)
"""Where a driver root holds the library, in the order in which it is looked for."""


def candidates(driver_root: str | None) -> tuple[str, ...]:
    """Return what to load, in order: the driver root's library where it exists, then whatever the loader finds."""
    if driver_root is None:
        return (LIBRARY,)
    paths = (Path(driver_root) / directory.lstrip("/") / LIBRARY for directory in DIRECTORIES)
    return (*(str(path) for path in paths if path.exists()), LIBRARY)


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


def install(library: Any) -> None:
    """Make the binding call `library` from now on. Nobody may be using the one before it."""
    _put(library)


def unload(library: Any) -> None:
    """Take `library` out of the binding and out of the process. Nobody may be inside it any more.

    The loader answers a path or name that it knows with the library that it has. After the driver was replaced, that
    is the old one, which the new kernel driver refuses for as long as this process lives.
    """
    _put(None)
    if isinstance(library, ctypes.CDLL):
        _ctypes.dlclose(library._handle)  # noqa: SLF001  ctypes has no other way to give a library back.


def _put(library: Any | None) -> None:
    with pynvml.libLoadLock:
        pynvml.nvmlLib = library
        pynvml._nvmlLib_refcount = 0  # noqa: SLF001  The binding offers no way to let go of a library.
        pynvml._nvmlGetFunctionPointer_cache.clear()  # noqa: SLF001
