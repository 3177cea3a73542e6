"""How Unix sockets of the kubelet and of its plugins are dialled."""

from __future__ import annotations

from pathlib import Path

import grpc

_OPTIONS: tuple[tuple[str, str | int], ...] = (
    # Without it the client would send the escaped path as authority, which Go's servers refuse.
    ("grpc.default_authority", "localhost"),
    # A new server behind an old path is a new connection, without the old one's back-off.
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.enable_retries", 0),
)


def dial(socket: Path, *, largest: int | None = None) -> grpc.Channel:
    """Return a channel to a socket, to be closed; answers of up to `largest` bytes are taken, None is gRPC's 4 MiB."""
    size = () if largest is None else (("grpc.max_receive_message_length", largest),)
    return grpc.insecure_channel(f"unix:{socket}", options=(*_OPTIONS, *size))
