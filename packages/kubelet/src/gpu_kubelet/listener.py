"""A gRPC server behind a socket file that is ours to place and to remove, for any services."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from enum import StrEnum
from pathlib import Path
from typing import cast

import grpc

from gpu_core.errors import KubeletError
from gpu_core.passing import passing_name
from gpu_kubelet.channel import dial
from gpu_kubelet.sockets import SocketFile, check_length, socket_at
from gpu_kubelet.workers import Workers

_MODE = 0o755
"""The original's mode: only the owner may write, and so connect."""

_DIAL_TIMEOUT = 5.0
"""Seconds that our own server has to answer."""

_DIAL_SLICE = 0.5
"""Seconds after which it is seen whether the path is still ours to wait at."""

LAST_CALLS = 2.0
"""Seconds that calls in progress have to end once they were told to."""

_LARGEST_QUESTION = 16 << 20
"""Bytes of a call that are taken. The kubelet may name each device of a list twice to ask which are preferred."""

_SERVER_OPTIONS = (("grpc.so_reuseport", 0), ("grpc.max_receive_message_length", _LARGEST_QUESTION))


class Occupant(StrEnum):
    """Who has the path of our socket."""

    OURS = "ours"
    EMPTY = "empty"
    OTHER = "other"


class Listener:
    """Serves calls at a path, from `open` until `close`, `workers` of them at once.

    `add` adds the services to a server. `answers` makes a call that whoever serves them answers, waiting for it a
    number of seconds at most; it raises grpc.RpcError where nobody does.

    gRPC removes the path that it has bound, at a moment of its own choosing. So it binds a passing name, which is then
    renamed: what is at the public path is never missing, and never removed unless it is still this very socket.
    """

    def __init__(
        self,
        path: Path,
        add: Callable[[grpc.Server], object],
        *,
        workers: int,
        answers: Callable[[grpc.Channel, float], object],
    ) -> None:
        self._path = path
        self._answers = answers
        self._workers = Workers(workers, name=path.stem)
        # gRPC uses nothing of a pool but `submit`.
        self._server = grpc.server(cast("ThreadPoolExecutor", self._workers), options=_SERVER_OPTIONS)
        self._ended: threading.Event | None = None
        add(self._server)
        self._file: SocketFile | None = None

    def open(self) -> None:
        """Accept calls; returns once one of ours was answered. Raises KubeletError."""
        check_length(self._path)
        try:
            with passing_name(self._path.parent) as passing:
                self._bind(passing)
                self._server.start()
                passing.chmod(_MODE)
                self._file = socket_at(passing)
                passing.replace(self._path)
        except (OSError, RuntimeError) as error:
            self.close()
            raise KubeletError(_why_not(self._path, error)) from error
        problem = self._silence()
        if problem is not None:
            self.close()
            raise KubeletError(problem)

    def _bind(self, path: Path) -> None:
        """Have gRPC make the socket. Raises OSError with the kernel's reason where that is impossible."""
        try:
            self._server.add_insecure_port(f"unix:{path}")
        except RuntimeError as error:
            raise _refusal(path) from error

    def occupant(self) -> Occupant:
        """Look who has the path now."""
        found = socket_at(self._path)
        if found is not None and found == self._file:
            return Occupant.OURS
        return Occupant.OTHER if found is not None else Occupant.EMPTY

    def _silence(self) -> str | None:
        """Return why nobody answers at our path; None as soon as somebody does."""
        deadline = time.monotonic() + _DIAL_TIMEOUT
        while not answered(self._path, self._answers, _DIAL_SLICE):
            if self.occupant() is not Occupant.OURS:
                return _removed(self._path)
            if time.monotonic() >= deadline:
                return f"Our own server does not answer on {self._path} within {_DIAL_TIMEOUT:g} s. It is tried again."
        return None

    def end(self) -> None:
        """Remove the socket if it is still ours, and tell every call to end; returns at once."""
        if self._ended is not None:
            return
        if self._file is not None and self.occupant() is Occupant.OURS:
            with contextlib.suppress(OSError):
                self._path.unlink()
        # Without a time to wait gRPC itself waits for every call, however long that takes.
        self._ended = self._server.stop(0)

    def close(self, patience: float = LAST_CALLS) -> None:
        """Do what `end` does, and wait until all calls have ended, `patience` seconds at most: the others are left."""
        self.end()
        deadline = time.monotonic() + patience
        ended = self._ended is not None and self._ended.wait(patience)
        # Not before: until then gRPC may have another call to hand over.
        self._workers.shutdown()
        if ended:
            self._workers.join(max(0.0, deadline - time.monotonic()))


def answered(path: Path, answers: Callable[[grpc.Channel, float], object], timeout: float) -> bool:
    """Tell whether a call is answered at a path within `timeout` seconds."""
    with dial(path) as channel:
        try:
            answers(channel, timeout)
        except grpc.RpcError:
            return False
    return True


def _why_not(path: Path, error: OSError | RuntimeError) -> str:
    if isinstance(error, FileNotFoundError) and path.parent.exists():
        return _removed(path)
    reason = (isinstance(error, OSError) and error.strerror) or error
    return (
        f"The socket {path} cannot be made: {reason}. Mount the kubelet's device plugin directory there, writable, "
        "or name another one with --device-plugin-dir."
    )


def _removed(path: Path) -> str:
    return f"The socket {path} was removed while it was made, as by a kubelet that starts. It will be made again."


def _refusal(path: Path) -> OSError:
    """Ask the kernel why a path cannot be bound: gRPC does not say, and names the path, which is another each time."""
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.bind(str(path))
        except OSError as error:
            return error
    path.unlink(missing_ok=True)
    return OSError("gRPC cannot bind it")
