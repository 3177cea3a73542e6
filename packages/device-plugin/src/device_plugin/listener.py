"""A gRPC server behind a socket file that is ours to place and to remove."""

from __future__ import annotations

import contextlib
import socket
from concurrent.futures import ThreadPoolExecutor
from enum import StrEnum
from pathlib import Path

import grpc

from device_plugin._pb import deviceplugin_pb2 as pb
from device_plugin._pb import deviceplugin_pb2_grpc as rpc
from device_plugin.sockets import SocketFile, check_length, socket_at
from device_plugin.streams import MOST
from gpu_core.errors import KubeletError
from gpu_core.runtime.passing import passing_name

_CALLS = 8
"""Calls that may be answered at once, besides open streams."""

_MODE = 0o755
"""The original's mode: only the owner may write, and so connect."""

_DIAL_TIMEOUT = 5.0

_LAST_CALLS = 5.0
"""Seconds that calls in progress have to end once they were told to."""

_LARGEST_QUESTION = 16 << 20
"""Bytes of a call that are taken. The kubelet may name each device of a list twice to ask which are preferred."""

CHANNEL_OPTIONS = (
    # Without it the client would send the escaped path as authority, which Go's servers refuse.
    ("grpc.default_authority", "localhost"),
    # A new server behind an old path is a new connection, without the old one's back-off.
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.enable_retries", 0),
)
"""How Unix sockets are dialled."""


_SERVER_OPTIONS = (("grpc.so_reuseport", 0), ("grpc.max_receive_message_length", _LARGEST_QUESTION))


class Place(StrEnum):
    """What is at the path of our socket."""

    OURS = "ours"
    EMPTY = "empty"
    OTHER = "other"


class Listener:
    """Serves one resource's calls at a path, from `open` until `close`.

    gRPC removes the path that it has bound, at a moment of its own choosing. So it binds a passing name, which is then
    renamed: what is at the public path is never missing, and never removed unless it is still this very socket.
    """

    def __init__(self, path: Path, servicer: rpc.DevicePluginServicer) -> None:
        self._path = path
        self._pool = ThreadPoolExecutor(max_workers=MOST + _CALLS, thread_name_prefix=path.stem)
        self._server = grpc.server(self._pool, options=_SERVER_OPTIONS)
        rpc.add_DevicePluginServicer_to_server(servicer, self._server)
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
        try:
            _dial(self._path)
        except grpc.RpcError as error:
            self.close()
            raise KubeletError(f"Our own server does not answer on {self._path}: {error}") from error

    def _bind(self, path: Path) -> None:
        """Have gRPC make the socket. Raises OSError with the kernel's reason where that is impossible."""
        try:
            self._server.add_insecure_port(f"unix:{path}")
        except RuntimeError as error:
            raise _refusal(path) from error

    def place(self) -> Place:
        """Look what is at the path now."""
        found = socket_at(self._path)
        if found is not None and found == self._file:
            return Place.OURS
        return Place.OTHER if found is not None else Place.EMPTY

    def close(self) -> None:
        """Remove the socket if it is still ours, and end every call; returns when all of them have ended."""
        if self._file is not None and self.place() is Place.OURS:
            with contextlib.suppress(OSError):
                self._path.unlink()
        ended = self._server.stop(None).wait(_LAST_CALLS)
        self._pool.shutdown(wait=ended)


def _dial(path: Path) -> None:
    with grpc.insecure_channel(f"unix:{path}", options=CHANNEL_OPTIONS) as channel:
        rpc.DevicePluginStub(channel).GetDevicePluginOptions(pb.Empty(), timeout=_DIAL_TIMEOUT, wait_for_ready=True)


def _why_not(path: Path, error: OSError | RuntimeError) -> str:
    if isinstance(error, FileNotFoundError) and path.parent.exists():
        return f"The socket {path} was removed while it was made, as by a kubelet that starts. It will be made again."
    reason = (isinstance(error, OSError) and error.strerror) or error
    return f"The socket {path} cannot be made: {reason}. Mount the kubelet's device plugin directory there, writable."


def _refusal(path: Path) -> OSError:
    """Ask the kernel why a path cannot be bound: gRPC does not say, and names the path, which is another each time."""
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.bind(str(path))
        except OSError as error:
            return error
    path.unlink(missing_ok=True)
    return OSError("gRPC cannot bind it")
