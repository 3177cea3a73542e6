"""Opens the socket on which a server hears its clients."""

from __future__ import annotations

import socket
from typing import Any

from gpu_core.web.addresses import Address

_BACKLOG = 128

# What the kernel keeps for each connection counts as our memory: a client that sends much or takes nothing gets little.
_RECEIVED = 16 * 1024
_UNSENT = 64 * 1024


def listen(address: Address, *, numeric: bool = False) -> socket.socket:
    """Return a socket that listens and never waits. Raises OSError.

    With `numeric` a host that is a name is an error; otherwise it is looked up, which may take long.
    """
    # An address without a host means every address, of both kinds; where the kernel has no IPv6, the other one.
    hosts = [address.host] if address.host else ["::", "0.0.0.0"]  # noqa: S104  No host means all, as in Go.
    flags = socket.AI_PASSIVE | (socket.AI_NUMERICHOST if numeric else 0)
    problem = OSError("it has no address")
    for host in hosts:
        try:
            found = socket.getaddrinfo(host, address.port, type=socket.SOCK_STREAM, flags=flags)
        except UnicodeError as error:
            raise socket.gaierror(socket.EAI_NONAME, "No host can have this name") from error
        # Of a name with addresses of both kinds the older kind comes first, as in Go.
        for family, _, _, _, place in sorted(found, key=lambda each: each[0] != socket.AF_INET):
            try:
                return _open(family, place, both_kinds=not address.host)
            except OSError as error:
                problem = error
    raise problem


def _open(family: int, place: tuple[Any, ...], *, both_kinds: bool) -> socket.socket:
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVED)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _UNSENT)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, int(not both_kinds))
        listener.setblocking(False)
        listener.bind(place)
        listener.listen(_BACKLOG)
    except OSError:
        listener.close()
        raise
    return listener
