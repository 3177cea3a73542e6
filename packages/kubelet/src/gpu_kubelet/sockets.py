"""Unix sockets as files: which one is there, and whether anybody answers."""

from __future__ import annotations

import os
import socket
import stat
import struct
from dataclasses import dataclass
from pathlib import Path

from gpu_core.errors import KubeletError

LONGEST_PATH = 107
"""Bytes that the kernel has room for in a Unix socket's address."""


_CREDENTIALS = struct.Struct("3i")
"""The kernel's `struct ucred`: process, user, group."""


@dataclass(frozen=True, slots=True)
class SocketFile:
    """Tells one socket file from another that was made at the same path, also when the inode number is used again."""

    device: int
    inode: int
    made: int


def socket_at(path: Path) -> SocketFile | None:
    """Return which socket is at a path; None when there is none, or something else."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    if not stat.S_ISSOCK(found.st_mode):
        return None
    # Links and permissions change a socket's ctime; its mtime stays what it was made with.
    return SocketFile(found.st_dev, found.st_ino, found.st_mtime_ns)


def accepts(path: Path, timeout: float) -> bool:
    """Tell whether a process accepts connections on a socket file."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.settimeout(timeout)
        try:
            client.connect(str(path))
        except OSError:
            return False
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """The process that listens on a socket: its id and name, None and empty where these are not to be seen from here.

    The kernel tells no id to those in another container, which cannot see that process.
    """

    pid: int | None = None
    name: str = ""


def server_at(path: Path, timeout: float) -> Server | None:
    """Return who listens on a socket file; None when nobody does, as on one that a dead process has left."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.settimeout(timeout)
        try:
            client.connect(str(path))
            credentials = client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        except (ConnectionRefusedError, FileNotFoundError):
            return None
        except OSError:
            # Its queue is full, or it is not for us; somebody is there.
            return Server()
    pid = _CREDENTIALS.unpack(credentials)[0]
    return Server(pid=pid, name=_command(pid)) if pid else Server()


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text("utf-8", "replace").strip()
    except OSError:
        return ""


def check_length(path: Path) -> None:
    """Raise KubeletError when a path is too long for a Unix socket."""
    length = len(os.fsencode(path))
    if length > LONGEST_PATH:
        raise KubeletError(
            f"The socket {path} cannot be made: its path has {length} bytes, and the kernel takes {LONGEST_PATH}. "
            "Choose a shorter name for the resource."
        )
