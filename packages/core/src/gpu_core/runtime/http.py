"""A small HTTP server for people, probes and scrapers: a handful of pages, each a function, and nothing else."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from gpu_core.errors import UsageError
from gpu_core.runtime.addresses import Address

HTML = "text/html; charset=utf-8"
TEXT = "text/plain; charset=utf-8"
JSON = "application/json"

_MOST_CONNECTIONS = 32
"""How many are served at once; a further one is closed, so that nobody can use up our threads."""

_PATIENCE = 10.0
"""Seconds that a client may be silent."""

_HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    # What is shown comes from drivers and config files; even if some of it got past escaping, it would be inert.
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a page answers: a body of UTF-8 text, its media type and the HTTP status."""

    body: str
    content_type: str = TEXT
    status: HTTPStatus = HTTPStatus.OK


Page = Callable[[], Answer]


@contextlib.contextmanager
def serving(
    address: Address, pages: Mapping[str, Page], *, failed: Callable[[str, Exception], object]
) -> Iterator[int]:
    """Serve the pages by their path while the block runs; gives the port.

    `failed` is told of a page whose function raised. Raises UsageError when the address cannot be listened on.
    """
    server = _listen(address, pages, failed)
    thread = threading.Thread(
        target=server.serve_forever, kwargs={"poll_interval": 0.2}, name="http-server", daemon=True
    )
    thread.start()
    try:
        yield int(server.server_address[1])
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    # Whoever is still being answered when the program ends is not waited for.
    block_on_close = False
    request_queue_size = 64

    def __init__(
        self, host: str, port: int, pages: Mapping[str, Page], failed: Callable[[str, Exception], object]
    ) -> None:
        self.pages = pages
        self.failed = failed
        self._places = threading.BoundedSemaphore(_MOST_CONNECTIONS)
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        super().__init__((host, port), _Handler)

    def server_bind(self) -> None:
        if self.address_family == socket.AF_INET6 and self.server_address[0] == "::":
            # An address without a host means every address, of both kinds.
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        # The base class asks the resolver for its own name here, which may take long and is never used.
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])

    def process_request(self, request: Any, client_address: Any) -> None:
        if self._places.acquire(blocking=False):
            try:
                super().process_request(request, client_address)
            except BaseException:
                # No thread was started, so none gives the place back.
                self._places.release()
                raise
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._places.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: clients that go away in the middle are no news."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    server_version = "k8s-gpu-suite"
    sys_version = ""
    timeout = _PATIENCE

    def do_GET(self) -> None:
        self._send(self._answer(), with_body=True)

    def do_HEAD(self) -> None:
        self._send(self._answer(), with_body=False)

    def _answer(self) -> Answer:
        path = urlsplit(self.path).path
        page = self.server.pages.get(path)
        if page is None:
            known = "".join(f"{path}\n" for path in self.server.pages)
            return Answer(body=f"There is no page {path!r}. These are:\n{known}", status=HTTPStatus.NOT_FOUND)
        try:
            return page()
        except Exception as error:  # noqa: BLE001  A mistake in what is shown must not end what is done.
            self.server.failed(path, error)
            return Answer(
                body="This page could not be made; the log says why.\n", status=HTTPStatus.INTERNAL_SERVER_ERROR
            )

    def _send(self, answer: Answer, *, with_body: bool) -> None:
        body = answer.body.encode("utf-8", "replace")
        self.send_response(answer.status)
        for name, value in {**_HEADERS, "Content-Type": answer.content_type, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if with_body:
            self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing: probes and scrapers come all the time."""


def _listen(address: Address, pages: Mapping[str, Page], failed: Callable[[str, Exception], object]) -> _Server:
    hosts = (address.host,) if address.host else ("::", "0.0.0.0")  # noqa: S104  No host means all, as in Go.
    problem: OSError | None = None
    for host in hosts:
        try:
            return _Server(host, address.port, pages, failed)
        except OSError as error:
            # Where the kernel has no IPv6, the other kind is still there.
            problem = error
    reason = problem.strerror or str(problem) if problem is not None else "no address"
    raise UsageError(
        f"The address {address} cannot be listened on: {reason}. Choose another one with --metrics-address, or none "
        "with an empty one."
    ) from problem
