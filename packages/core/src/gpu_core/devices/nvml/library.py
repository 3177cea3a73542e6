"""Puts the driver's management library, or a stand-in, where the NVML binding keeps its own.

pynvml always loads `libnvidia-ml.so.1` by that name, but only when it has none yet; setting it first is how a
driver root of a driver container is honoured, and how a simulated node takes the library's place.
"""

from __future__ import annotations

import _ctypes
import ctypes
from typing import Any

import pynvml

LIBRARY = "libnvidia-ml.so.1"


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
