"""Reads files without waiting for anybody, and writes them so that a reader never finds a part of the new content."""

from __future__ import annotations

import errno
import math
import os
import select
import stat
import time
from pathlib import Path

from gpu_core.passing import passing_name

_NULL = os.makedev(1, 3)
_CHUNK = 64 * 1024
_READING = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC

_KINDS = {
    stat.S_IFIFO: "it is a named pipe and no regular file",
    stat.S_IFSOCK: "it is a socket and no regular file",
    stat.S_IFCHR: "it is a device and no regular file",
    stat.S_IFBLK: "it is a device and no regular file",
}


def read_regular(path: Path | str, *, most: int) -> bytes:
    """Return what a regular file holds, of /dev/null nothing; wait for nobody who might have to write it first.

    For every path that somebody else may replace: by a pipe, which would make a reader wait for ever, by a device that
    never ends, by more than fits into memory. Raises OSError where the file cannot be read, is of another kind, or
    holds more than `most` bytes.
    """
    data = read_beginning(path, most=most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"it holds more than {most} bytes", os.fspath(path))
    return data


def read_beginning(path: Path | str, *, most: int) -> bytes:
    """Return the first `most` bytes of a regular file, as `read_regular` does for all of it."""
    descriptor = open_regular(path)
    try:
        return _read_up_to(descriptor, most)
    finally:
        os.close(descriptor)


def open_regular(path: Path | str) -> int:
    """Open a regular file, or /dev/null, for reading and return its descriptor, which the caller closes.

    Waits for nobody, as `read_regular`. Raises OSError.
    """
    # Looked at first, since opening alone does something to some devices; once it is open, since it may be another.
    _check_regular(os.stat(path), path)  # noqa: PTH116  Names are often texts here.
    descriptor = os.open(path, _READING)
    try:
        _check_regular(os.fstat(descriptor), path)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def read_given(path: Path, *, most: int, patience: float = 30.0) -> bytes:
    """Return the first `most` bytes of a file that a person names: a regular one, or the pipe of a shell.

    Pipes without a name, as in `/dev/stdin` and `<(command)`, have a writer, who has to be done within `patience`
    seconds; those with a name may never have one. Raises OSError.
    """
    if not is_unnamed_pipe(path):
        return read_beginning(path, most=most)
    descriptor = os.open(path, _READING)
    try:
        return _read_pipe(descriptor, most, time.monotonic() + patience)
    finally:
        os.close(descriptor)


def read_open(descriptor: int, *, most: int, patience: float = 30.0) -> bytes:
    """Return the first `most` bytes of what is open already, as standard input is: anything that ends.

    Whoever writes it has to be done within `patience` seconds, unless it is a terminal, where a person may take the
    time and can break off. Raises OSError.
    """
    return _read_pipe(descriptor, most, math.inf if os.isatty(descriptor) else time.monotonic() + patience)


def is_unnamed_pipe(path: Path) -> bool:
    """Whether a path stands for the pipe of a shell, as `/dev/stdin` and `/dev/fd/63` may. It can be read once only."""
    return path.is_fifo() and not path.resolve().is_fifo()


def _check_regular(found: os.stat_result, path: Path | str) -> None:
    kind = stat.S_IFMT(found.st_mode)
    # config-manager points at it where a node shall have no config.
    if kind == stat.S_IFREG or (kind == stat.S_IFCHR and found.st_rdev == _NULL):
        return
    if kind == stat.S_IFDIR:
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    raise OSError(errno.EINVAL, _KINDS.get(kind, "it is no regular file"), os.fspath(path))


def _read_up_to(descriptor: int, most: int) -> bytes:
    # The kernel's own files tell no size, and a file may shrink or grow meanwhile: only the end of reading is the end.
    parts: list[bytes] = []
    left = most
    while left > 0 and (part := os.read(descriptor, min(left, _CHUNK))):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def _read_pipe(descriptor: int, most: int, deadline: float) -> bytes:
    readable = select.poll()
    readable.register(descriptor, select.POLLIN)
    data = b""
    while len(data) < most:
        left = deadline - time.monotonic()
        if left <= 0 or not readable.poll(None if math.isinf(left) else left * 1000):
            raise TimeoutError(errno.ETIMEDOUT, "whoever writes into the pipe takes too long")
        part = os.read(descriptor, min(most - len(data), _CHUNK))
        if not part:
            break
        data += part
    return data


def write_atomically(path: Path, data: bytes, *, mode: int = 0o644) -> None:
    """Replace `path` by a file with `data`. Raises OSError, and leaves the old file whole then.

    What a process that is killed meanwhile leaves behind, `remove_leftovers` finds.
    """
    with passing_name(path.parent) as fresh:
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
            os.fchmod(stream.fileno(), mode)
            stream.flush()
            os.fsync(stream.fileno())
        fresh.replace(path)


def write_where_asked(path: Path, data: bytes) -> None:
    """Write what a person wants at `path`: atomically into a file, straight into anything else. Raises OSError.

    Devices, pipes and links, such as /dev/null and /dev/stdout, stay what they are: replaced by a file, they would be
    missing to the whole machine.
    """
    if path.is_symlink() or (path.exists() and not path.is_file()):
        path.write_bytes(data)
    else:
        write_atomically(path, data)
