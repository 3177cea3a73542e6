"""The connections to a server of pages: one thread holds them all and waits for none of them.

A request has one deadline, from its connection to the last byte of its answer, and few bytes; and when all places are
taken, whoever has not even asked yet makes room. So probes are answered whatever others do.
"""

from __future__ import annotations

import contextlib
import errno
import selectors
import socket
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum

from gpu_core.web.http_message import Answer, Encoded, Request, Status, encode, read_request
from gpu_core.web.http_pages import Page, Pages

MOST_CLIENTS = 64
"""How many connections are held at once."""

PATIENCE = 10.0
"""Seconds that a request and its answer may take together."""

_FAREWELL = 1.0
"""Seconds in which a client takes the end of its answer and goes."""

_MOST_PASSED_OVER = 64 * 1024
"""Bytes that a client may send after its request; what is closed with something unread may lose its answer."""

_MOST_KEPT = 8 << 20
"""Bytes of different answers that are kept for those who take them slowly."""

_READ_AT_ONCE = 4096
_ACCEPTED_AT_ONCE = 16
_NO_ROOM = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
_ROOM_PAUSE = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """Who is told of what, from the server's threads.

    `failed`: of a page whose function raised. `turned_away`: why a connection got no page, in one word.
    """

    failed: Callable[[str, Exception], object]
    turned_away: Callable[[str], object]


class _Stage(IntEnum):
    """How far a connection has come; the lower, the sooner it makes room for another one."""

    LEAVING = 0
    ASKING = 1
    TAKING = 2
    WAITING = 3


@dataclass(slots=True, eq=False)
class _Client:
    """A connection. `deadline` is on the monotonic clock."""

    socket: socket.socket
    deadline: float
    stage: _Stage = _Stage.ASKING
    received: bytes = b""
    with_body: bool = True
    answer: bytes = b""
    unsent: memoryview = field(default_factory=lambda: memoryview(b""))
    passed_over: int = 0


class Connections:
    """Those who connected to a listening socket, which it owns. Raises OSError where the kernel has no room for it.

    All happens in the thread that calls `serve`; only `ring` may be called from others, at any time.
    """

    def __init__(self, listener: socket.socket, pages: Mapping[str, Page], told: Told) -> None:
        self.port = int(listener.getsockname()[1])
        self._listener = listener
        self._pages: Pages[_Client] = Pages(pages, failed=told.failed, ring=self.ring)
        self._told = told
        # In the order in which they came, so that the first of a stage is the oldest.
        self._clients: dict[_Client, None] = {}
        self._bell_lock = threading.Lock()
        with contextlib.ExitStack() as stack:
            stack.callback(listener.close)
            self._selector = stack.enter_context(selectors.DefaultSelector())
            self._ear, self._bell = (stack.enter_context(end) for end in socket.socketpair())
            self._ear.setblocking(False)
            self._bell.setblocking(False)
            self._selector.register(self._ear, selectors.EVENT_READ)
            self._selector.register(listener, selectors.EVENT_READ)
            self._resources = stack.pop_all()

    def serve(self, stopped: threading.Event) -> None:
        """Answer until `stopped` is set and the bell rung. Raises OSError when nobody can be heard any more."""
        while not stopped.is_set():
            now = time.monotonic()
            soonest = min((client.deadline for client in self._clients), default=None)
            for key, _ in self._selector.select(None if soonest is None else max(0.0, soonest - now)):
                if key.fileobj is self._listener:
                    self._accept()
                elif key.fileobj is self._ear:
                    self._hear()
                elif key.data in self._clients:
                    # Whoever came before it in this turn may have taken its place.
                    self._go_on(key.data)
            self._hand_out()
            self._give_up_on_the_late()

    def ring(self) -> None:
        """Let the thread look at what is new."""
        # Closed by its own thread, the number of the bell may be another file's already.
        with self._bell_lock, contextlib.suppress(OSError):
            self._bell.send(b"!")

    def close(self) -> None:
        """Close all connections and the listening socket."""
        for client in tuple(self._clients):
            self._close(client)
        with self._bell_lock:
            self._resources.close()

    def _hear(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while self._ear.recv(_READ_AT_ONCE):
                pass

    def _accept(self) -> None:
        for _ in range(_ACCEPTED_AT_ONCE):
            try:
                connection, _ = self._listener.accept()
            except BlockingIOError:
                return
            except OSError as error:
                if error.errno in _NO_ROOM:
                    self._find_room()
                    return
                # Whoever it was has gone again.
                continue
            if len(self._clients) >= MOST_CLIENTS:
                self._make_room()
            client = _Client(socket=connection, deadline=time.monotonic() + PATIENCE)
            self._clients[client] = None
            connection.setblocking(False)
            self._selector.register(connection, selectors.EVENT_READ, client)
            # What it asks has mostly come with it, so that nobody can take its place before it was heard.
            self._go_on(client)

    def _find_room(self) -> None:
        """Have a descriptor or memory for the next connection; the kernel had none."""
        if self._clients:
            self._make_room()
        else:
            # Others hold all of it. Nobody else waits for this thread.
            time.sleep(_ROOM_PAUSE)

    def _make_room(self) -> None:
        client = min(self._clients, key=lambda each: each.stage)
        if client.stage is not _Stage.LEAVING:
            self._told.turned_away("displaced")
        self._close(client)

    def _give_up_on_the_late(self) -> None:
        now = time.monotonic()
        for client in [each for each in self._clients if each.deadline <= now]:
            if client.stage is not _Stage.LEAVING:
                self._told.turned_away("late")
            self._close(client)

    def _go_on(self, client: _Client) -> None:
        """Do what can be done for a client without waiting."""
        try:
            match client.stage:
                case _Stage.ASKING:
                    self._listen_to(client)
                case _Stage.TAKING:
                    self._send(client)
                case _Stage.LEAVING:
                    self._pass_over(client)
                case _Stage.WAITING:
                    pass
        except BlockingIOError:
            pass
        except OSError:
            # It has gone away in the middle, which is no news.
            self._close(client)

    def _listen_to(self, client: _Client) -> None:
        received = client.socket.recv(_READ_AT_ONCE)
        if not received:
            self._close(client)
            return
        client.received += received
        asked = read_request(client.received)
        match asked:
            case None:
                return
            case Request():
                client.with_body = asked.with_body
                self._ask(client, asked.path)
            case Answer():
                self._told.turned_away("malformed")
                self._answer(client, encode(asked, now=time.time()))
        client.received = b""

    def _ask(self, client: _Client, path: str) -> None:
        if path not in self._pages.paths:
            known = "".join(f"{path}\n" for path in self._pages.paths)
            body = f"There is no page {path!r}. These are:\n{known}"
            self._answer(client, encode(Answer(body=body, status=Status.NOT_FOUND), now=time.time()))
            return
        client.stage = _Stage.WAITING
        self._selector.unregister(client.socket)
        self._pages.ask(path, client)

    def _hand_out(self) -> None:
        for clients, encoded in self._pages.made():
            for client in clients:
                self._selector.register(client.socket, selectors.EVENT_WRITE, client)
                self._answer(client, encoded)
            self._keep_few()

    def _keep_few(self) -> None:
        """Close the oldest of those who take their answers, until what is kept for them is little or one answer."""
        while True:
            taking = [client for client in self._clients if client.stage is _Stage.TAKING]
            kept = {id(client.answer): len(client.answer) for client in taking}
            if len(kept) < 2 or sum(kept.values()) <= _MOST_KEPT:
                return
            self._told.turned_away("displaced")
            self._close(taking[0])

    def _answer(self, client: _Client, encoded: Encoded) -> None:
        client.stage = _Stage.TAKING
        client.answer = encoded.whole
        client.unsent = encoded.sent(with_body=client.with_body)
        self._selector.modify(client.socket, selectors.EVENT_WRITE, client)
        self._go_on(client)

    def _send(self, client: _Client) -> None:
        client.unsent = client.unsent[client.socket.send(client.unsent) :]
        if client.unsent:
            return
        client.stage = _Stage.LEAVING
        client.deadline = min(client.deadline, time.monotonic() + _FAREWELL)
        client.answer, client.unsent = b"", memoryview(b"")
        client.socket.shutdown(socket.SHUT_WR)
        self._selector.modify(client.socket, selectors.EVENT_READ, client)

    def _pass_over(self, client: _Client) -> None:
        received = client.socket.recv(_READ_AT_ONCE)
        client.passed_over += len(received)
        if not received or client.passed_over > _MOST_PASSED_OVER:
            self._close(client)

    def _close(self, client: _Client) -> None:
        del self._clients[client]
        if client.stage is _Stage.WAITING:
            self._pages.forget(client)
        else:
            self._selector.unregister(client.socket)
        client.socket.close()
