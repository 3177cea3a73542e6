"""A small HTTP server for people, probes and scrapers: a handful of pages, each a function, and nothing else."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from gpu_core.runtime.pause import Pause, Retry
from gpu_core.web.addresses import Address
from gpu_core.web.http_connections import Connections, Told
from gpu_core.web.http_listening import listen
from gpu_core.web.http_pages import Page

_TAKEN = Pause(first=0.5, longest=10.0)
"""Before an address is tried again."""

_FAREWELL = 2.0
"""Seconds that the end of the server is waited for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listening:
    """Who is told whether anybody can be answered; called from the server's thread.

    `began` is given the port. `impossible` is told why not, again for every attempt.
    """

    began: Callable[[int], object]
    impossible: Callable[[Exception], object]


@contextlib.contextmanager
def serving(address: Address, pages: Mapping[str, Page], *, listening: Listening, told: Told) -> Iterator[int | None]:
    """Serve the pages by their path while the block runs; gives the port.

    An address that cannot be listened on is tried again until it can be; the port is None meanwhile. So it is with a
    host that is a name, as looking it up may take long.
    """
    server = _Server(address, pages, listening, told)
    server.start()
    try:
        yield server.port
    finally:
        server.stop()


class _Server:
    """The thread that opens the address, again and again if need be, and answers those who connect to it."""

    def __init__(self, address: Address, pages: Mapping[str, Page], listening: Listening, told: Told) -> None:
        self.port: int | None = None
        self._address = address
        self._pages = pages
        self._listening = listening
        self._told = told
        self._stopped = threading.Event()
        self._connections: Connections | None = None
        self._thread = threading.Thread(target=self._run, name="http-server", daemon=True)

    def start(self) -> None:
        """Begin to listen, if that is possible at once, and to answer."""
        self._open(numeric=True)
        try:
            self._thread.start()
        except RuntimeError as error:
            # What is the job itself may still be possible.
            self._close()
            self._listening.impossible(OSError(str(error)))

    def stop(self) -> None:
        """Close everything. A thread that looks up a name or makes a page is left behind."""
        self._stopped.set()
        connections = self._connections
        if connections is not None:
            connections.ring()
        if self._thread.is_alive():
            self._thread.join(_FAREWELL)

    def _run(self) -> None:
        retry = Retry(pause=_TAKEN)
        while not self._stopped.is_set():
            self._open()
            if self._connections is None:
                self._stopped.wait(retry.failed())
                continue
            retry.succeeded()
            try:
                self._connections.serve(self._stopped)
            except Exception as error:  # noqa: BLE001  What goes wrong in a helper must not end it for good.
                self._listening.impossible(error)
                self._stopped.wait(_TAKEN.longest)
            finally:
                self._close()

    def _open(self, *, numeric: bool = False) -> None:
        if self._connections is not None:
            return
        try:
            self._connections = Connections(listen(self._address, numeric=numeric), self._pages, self._told)
        except OSError as error:
            # A host that is a name is looked up in the thread.
            if not (numeric and isinstance(error, socket.gaierror)):
                self._listening.impossible(error)
            return
        self.port = self._connections.port
        self._listening.began(self.port)

    def _close(self) -> None:
        if self._connections is not None:
            self._connections.close()
            self._connections = None
