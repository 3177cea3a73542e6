"""Names for what is made beside its place and then renamed to it; and the removal of what a killed process left so.

Nothing that becomes visible under its own name may be half made, so files, links and sockets are made under a passing
name. A process that is killed leaves that behind. Whether a passing name still belongs to a process cannot be told by
a process id, as two instances of a program live in different PID namespaces while one replaces the other, nor safely by
age, as a stopped process may go on after any time. So each passing name has a lock file beside it, made before and
removed after it, that its process holds by flock: the kernel lets go of it when the process ends, however it ends, and
shows it to everybody who sees the same file, in whatever container. Links and sockets cannot be held themselves.

Both names begin with a dot, which node-feature-discovery passes over, and have no suffix that a container runtime
takes for a CDI specification. The passing one is no longer than a resource's socket, for whose path the kernel has
little room.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import secrets
import stat
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

_LOCK = re.compile(r"\.k8s-gpu-suite-([0-9a-f]{8})\.lock")
_PASSING = re.compile(r"\.gpu-[0-9a-f]{8}")

_TRIES = 100
"""How many names are tried. One alone is taken by chance about once in four thousand million times."""


def is_passing(name: str) -> bool:
    """Whether a file of this name comes and goes while something is made, and so is no news to anybody."""
    return (_LOCK.fullmatch(name) or _PASSING.fullmatch(name)) is not None


@contextlib.contextmanager
def passing_name(directory: Path) -> Iterator[Path]:
    """Give a path that is free, to make something at and to rename it from; what is still there at the end is removed.

    Raises OSError where the directory is missing or takes no files.
    """
    passing, lock, descriptor = _claim(directory)
    try:
        yield passing
    finally:
        try:
            # The lock goes last: without it nobody would know the other for a leftover.
            with contextlib.suppress(OSError):
                _remove(passing)
                lock.unlink()
        finally:
            os.close(descriptor)


def remove_leftovers(directory: Path) -> tuple[Path, ...]:
    """Remove what ended processes of ours left under passing names; return what was removed, without its locks.

    What a living process holds stays, and so does everything that is not ours or cannot be removed. A file system
    without flock keeps its leftovers. Raises nothing: no start may fail for this.
    """
    removed = []
    try:
        names = sorted(os.listdir(directory))  # noqa: PTH208  Only names are wanted.
    except OSError:
        return ()
    for name in names:
        ours = _LOCK.fullmatch(name)
        if ours is not None:
            passing = _passing(directory, ours[1])
            with contextlib.suppress(OSError):
                if _remove_unheld(directory / name, passing):
                    removed.append(passing)
    return tuple(removed)


def clear_up(directories: Iterable[Path], say: Callable[[str], object]) -> None:
    """Remove the leftovers in several directories, as every start does, and say which there were."""
    removed = [path for directory in directories for path in remove_leftovers(directory)]
    if removed:
        say(f"Removed what a killed process left half made: {', '.join(map(str, removed))}")


def _claim(directory: Path) -> tuple[Path, Path, int]:
    """Make and hold a lock file; return the path that it is for, its own, and its descriptor."""
    for _ in range(_TRIES):
        token = secrets.token_hex(4)
        lock, passing = directory / f".k8s-gpu-suite-{token}.lock", _passing(directory, token)
        try:
            descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except FileExistsError:
            continue
        # Before it was held, a start beside us may have taken it for a leftover.
        if _held(descriptor) and _is_at(lock, descriptor):
            if not os.path.lexists(passing):
                return passing, lock, descriptor
            with contextlib.suppress(OSError):
                lock.unlink()
        os.close(descriptor)
    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), os.fspath(directory))


def _held(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        # A file system without locks: nobody can take one there, so nobody takes this file for a leftover.
        return True
    return True


def _remove_unheld(lock: Path, passing: Path) -> bool:
    """Remove a lock file that nobody holds, after what it is for; return whether that was there. Raises OSError."""
    # Looked at first, as opening alone does something to some devices, and a pipe by that name is not ours.
    if not stat.S_ISREG(os.lstat(lock).st_mode):
        return False
    descriptor = os.open(lock, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Its process may have ended in good order since its name was read, and the name be another's by now.
        if not _is_at(lock, descriptor):
            return False
        # Held by us, so that no process can begin to use these names.
        was_there = _remove(passing)
        lock.unlink()
        return was_there
    finally:
        os.close(descriptor)


def _is_at(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.lstat(path), os.fstat(descriptor))
    except OSError:
        return False


def _remove(path: Path) -> bool:
    try:
        path.unlink()
    except FileNotFoundError:
        return False
    return True


def _passing(directory: Path, token: str) -> Path:
    return directory / f".gpu-{token}"
