"""One HTTP request to the fake API server: routing, faults, answers and the stream of a watch."""

from __future__ import annotations

import contextlib
import json
import select
import socket
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

from fakes.api_faults import Delay, Drip, Drop, Garbage, HalfAnswer, Hold, Refuse, Silence, WatchEnd
from fakes.api_objects import Key, Object, RefusedError
from fakes.api_owners import admit_owners
from fakes.api_routes import concerns, new_name, route, selector, shown, status_object

if TYPE_CHECKING:
    from fakes.api_server import ApiServer


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request as it came; `body` is parsed JSON or None."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: Any

    @property
    def watch(self) -> bool:
        """Whether this opens a watch."""
        return self.query.get("watch") in ("1", "true")


@dataclass(slots=True, eq=False)
class OpenWatch:
    """A watch that a client holds open."""

    query: Mapping[str, str]
    end: WatchEnd | None = None
    bookmarks: int = 0


class Handler(BaseHTTPRequestHandler):
    """Answers the requests of one connection, one after another."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def setup(self) -> None:
        if isinstance(self.request, ssl.SSLSocket):
            self.request.do_handshake()
        super().setup()

    @property
    def api(self) -> ApiServer:
        api: ApiServer = self.server.api  # type: ignore[attr-defined]
        return api

    def do_GET(self) -> None:
        self._serve()

    do_POST = do_PUT = do_PATCH = do_DELETE = do_GET

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Write no log: the server keeps the requests."""

    def _serve(self) -> None:
        split = urlsplit(self.path)
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        request = Request(
            method=self.command,
            path=split.path,
            query=dict(parse_qsl(split.query)),
            headers={name.lower(): value for name, value in self.headers.items()},
            body=json.loads(content) if content else None,
        )
        stopping = self.api.stopping
        truncate = False
        match self.api.next_fault(request):
            case Refuse() as refusal:
                self._refuse(refusal)
                return
            case Drop():
                self._hang_up()
                return
            case Silence():
                stopping.wait()
                self._hang_up()
                return
            case Drip():
                self._send(200, b"{" + b" " * 1_000_000, {"Content-Type": "application/json"}, part=1)
                with contextlib.suppress(OSError):
                    while not stopping.wait(0.02):
                        self.wfile.write(b" ")
                self._hang_up()
                return
            case Garbage(body):
                self._send(200, body, {"Content-Type": "text/html"})
                return
            case Delay(seconds):
                stopping.wait(seconds)
            case Hold(gate):
                while not gate.wait(0.02) and not stopping.is_set():
                    pass
            case HalfAnswer():
                truncate = True
            case None:
                pass
        self._answer(request, truncate=truncate)

    def _answer(self, request: Request, *, truncate: bool) -> None:
        if self.api.tokens is not None:
            scheme, _, token = request.headers.get("authorization", "").partition(" ")
            if scheme.lower() != "bearer" or token not in self.api.tokens:
                self._refuse(Refuse(401, reason="Unauthorized", message="Unauthorized"))
                return
        try:
            key, part = route(request.path)
            if key.collection in self.api.lacks:
                # So answers the real one for a path that nobody serves.
                self._send(404, b"404 page not found\n", {"Content-Type": "text/plain; charset=utf-8"})
                return
            if request.watch and not truncate:
                self._watch(request, key)
                return
            answer = self._act(request, key, part)
        except RefusedError as refused:
            self._refuse(refused.answer)
            return
        body = json.dumps(answer).encode()
        if truncate:
            self._send(200, body, {"Content-Type": "application/json"}, part=len(body) // 2)
            with contextlib.suppress(OSError):
                self.connection.shutdown(socket.SHUT_WR)
            self.close_connection = True
        else:
            status = 201 if request.method == "POST" else 200
            self._send(status, body, {"Content-Type": "application/json"})

    def _act(self, request: Request, key: Key, part: str | None) -> Object:
        store = self.api.store
        match request.method:
            case "GET" if key.name:
                return store.get(key)
            case "GET":
                with store.condition:
                    fits = selector(request.query)
                    items = [
                        shown(request.headers.get("accept", ""), found)
                        for found in store.list(key.collection, key.namespace)
                        if fits(found)
                    ]
                    return {"kind": "List", "metadata": {"resourceVersion": str(store.version)}, "items": items}
            case "POST":
                admit_owners(self.api.rights, key, request.body, None)
                return store.create(Key(key.collection, key.namespace, new_name(request.body)), request.body)
            case "PUT":
                with store.condition:
                    if part is None:
                        admit_owners(self.api.rights, key, request.body, store.get(key))
                    return store.replace(key, request.body, part=part)
            case "DELETE":
                return store.delete(key, only=(request.body or {}).get("preconditions"))
            case "PATCH":
                media_type = request.headers.get("content-type", "")
                if media_type == "application/apply-patch+yaml":
                    manager = request.query.get("fieldManager")
                    if not manager:
                        raise RefusedError(400, "BadRequest", "fieldManager is required for apply patch")
                    return store.apply(key, request.body, manager=manager, force=request.query.get("force") == "true")
                strategic = media_type == "application/strategic-merge-patch+json"
                if not strategic and media_type != "application/merge-patch+json":
                    raise RefusedError(415, "UnsupportedMediaType", f"the patch type {media_type!r} is not known")
                return store.merge(key, request.body, part=part, strategic=strategic)
        raise RefusedError(405, "MethodNotAllowed", f"{request.method} is not served")

    def _watch(self, request: Request, key: Key) -> None:
        api, store, stopping = self.api, self.api.store, self.api.stopping
        fits = selector(request.query)
        since = request.query.get("resourceVersion", "")
        deadline = time.monotonic() + float(request.query.get("timeoutSeconds") or 1800)
        watch = OpenWatch(request.query)
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        with store.condition:
            api.watches.append(watch)
            seen = store.version if since in ("", "0") else int(since)
            first = store.list(key.collection, key.namespace) if since in ("", "0") else []
            store.condition.notify_all()
        try:
            for found in filter(fits, first):
                self._send_event("ADDED", shown(request.headers.get("accept", ""), found))
            while not stopping.is_set() and time.monotonic() < deadline:
                with store.condition:
                    changes = store.changes_after(seen)
                    if not changes and changes is not None and watch.end is None and not watch.bookmarks:
                        store.condition.wait(0.05)
                        changes = store.changes_after(seen)
                    end, bookmarks, watch.bookmarks = watch.end, watch.bookmarks, 0
                if changes is None or end is WatchEnd.EXPIRED:
                    self._send_event(
                        "ERROR", status_object(Refuse(410, "Expired", f"too old resource version: {seen}"))
                    )
                    break
                for change in changes:
                    seen = change.version
                    if concerns(change, key) and fits(change.object):
                        self._send_event(change.type, shown(request.headers.get("accept", ""), change.object))
                if request.query.get("allowWatchBookmarks") == "true":
                    for _ in range(bookmarks):
                        self._send_event("BOOKMARK", {"metadata": {"resourceVersion": str(seen)}})
                if end is not None:
                    self._end_watch(end)
                    return
                if self._client_left():
                    return
            if stopping.is_set():
                self._hang_up()
            else:
                self._end_watch(WatchEnd.ORDERLY)
        except OSError:
            self.close_connection = True
        finally:
            with store.condition:
                api.watches.remove(watch)
                store.condition.notify_all()

    def _end_watch(self, how: WatchEnd) -> None:
        match how:
            case WatchEnd.ORDERLY | WatchEnd.EXPIRED:
                self.wfile.write(b"0\r\n\r\n")
            case WatchEnd.GARBAGE:
                self._send_chunk(b'{"type":"MODIFIED","object":\n')
                self._hang_up()
            case WatchEnd.HALF_CLOSE:
                self.connection.shutdown(socket.SHUT_WR)
                self.close_connection = True
            case WatchEnd.DROP:
                self._hang_up()

    def _send_event(self, kind: str, content: Object) -> None:
        self._send_chunk(json.dumps({"type": kind, "object": content}).encode() + b"\n")

    def _send_chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def _refuse(self, refusal: Refuse) -> None:
        headers = {"Content-Type": "application/json"}
        if refusal.retry_after is not None:
            headers["Retry-After"] = str(refusal.retry_after)
        self._send(refusal.status, json.dumps(status_object(refusal)).encode(), headers)

    def _send(self, status: int, body: bytes, headers: Mapping[str, str], part: int | None = None) -> None:
        with contextlib.suppress(OSError):
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[:part])

    def _hang_up(self) -> None:
        self.close_connection = True
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def _client_left(self) -> bool:
        readable, _, _ = select.select([self.connection], [], [], 0)
        if not readable or isinstance(self.connection, ssl.SSLSocket):
            return False
        self.close_connection = self.connection.recv(1, socket.MSG_PEEK) == b""
        return self.close_connection
