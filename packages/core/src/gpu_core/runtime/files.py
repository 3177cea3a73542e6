"""Writes files so that a reader finds the old content or the new one, never a part."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path


def write_atomically(path: Path, data: bytes, *, mode: int = 0o644) -> None:
    """Replace `path` by a file with `data`. Raises OSError; a temporary file is not left behind."""
    # A name as long as a file system allows leaves no room for the additions.
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:40]}.")
    fresh = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
            os.fchmod(stream.fileno(), mode)
            stream.flush()
            os.fsync(stream.fileno())
        fresh.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            fresh.unlink()
        raise


def write_where_asked(path: Path, data: bytes) -> None:
    """Write what a person wants at `path`: atomically into a file, straight into anything else. Raises OSError.

    Devices, pipes and links, such as /dev/null and /dev/stdout, stay what they are: replaced by a file, they would be
    missing to the whole machine.
    """
    if path.is_symlink() or (path.exists() and not path.is_file()):
        path.write_bytes(data)
    else:
        write_atomically(path, data)
