"""The kubelet's socket: appears when it accepts calls, disappears or stays as the kubelet stops or crashes."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc

from gpu_kubelet._pb import deviceplugin_pb2_grpc as rpc

# What a kubelet keeps of the directory's files when it starts.
CHECKPOINT = "kubelet_internal_checkpoint"
# Register calls that may wait at the same time.
WORKERS = 32


class RegistrationSocket:
    """A gRPC server whose socket file is ours to place and to remove.

    gRPC removes the file it has bound at a moment of its own choosing, which would take away a successor's
    file after a quick restart. So it binds a name in a hidden directory, and the name that plugins watch is a
    second link to the same socket.
    """

    def __init__(self, path: Path, servicer: rpc.RegistrationServicer, *, number: int) -> None:
        self._path = path
        self._bound = path.parent / ".k" / str(number)
        self._pool = ThreadPoolExecutor(max_workers=WORKERS, thread_name_prefix="kubelet")
        self._server = grpc.server(self._pool)
        rpc.add_RegistrationServicer_to_server(servicer, self._server)

    def open(self) -> None:
        """Clear the directory as a starting kubelet does, and begin to accept calls."""
        directory = self._path.parent
        directory.mkdir(parents=True, exist_ok=True)
        for entry in directory.iterdir():
            if entry.name != CHECKPOINT and not entry.is_dir():
                # A plugin may rename or remove what is its own meanwhile.
                entry.unlink(missing_ok=True)
        self._bound.parent.mkdir(exist_ok=True)
        self._server.add_insecure_port(f"unix:{self._bound}")
        self._server.start()
        os.link(self._bound, self._path)

    def close(self, *, leave_file: bool) -> None:
        """Take no more calls, and end those in progress; returns at once."""
        if not leave_file:
            self._path.unlink(missing_ok=True)
        self._server.stop(None)

    def join(self) -> None:
        """Wait until everything that `close` ended is over."""
        self._server.wait_for_termination()
        self._pool.shutdown()
