"""HTTP requests and answers as bytes, as much of HTTP as people, probes and scrapers need of us. Pure.

Of a request only its first line counts; what follows is bounded and passed over. Every answer ends its connection.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

HTML = "text/html; charset=utf-8"
TEXT = "text/plain; charset=utf-8"
JSON = "application/json"

MOST_HEAD = 8 * 1024
"""Bytes that a request line and its headers may have together."""

_HEAD_END = re.compile(rb"\r?\n\r?\n")
_REQUEST_LINE = re.compile(r"([A-Z]+) (?:https?://[^/?#\s]*)?([^?#\s]*)\S* HTTP/([0-9])\.[0-9]")

_HEADERS = {
    "Server": "k8s-gpu-suite",
    "Connection": "close",
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    # What is shown comes from drivers and config files; even if some of it got past escaping, it would be inert.
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
}


class Status(StrEnum):
    """The outcomes of a request, as they stand in an answer's first line."""

    OK = "200 OK"
    BAD_REQUEST = "400 Bad Request"
    NOT_FOUND = "404 Not Found"
    METHOD_NOT_ALLOWED = "405 Method Not Allowed"
    TOO_LARGE = "431 Request Header Fields Too Large"
    INTERNAL_SERVER_ERROR = "500 Internal Server Error"
    SERVICE_UNAVAILABLE = "503 Service Unavailable"
    VERSION_NOT_SUPPORTED = "505 HTTP Version Not Supported"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is asked for: the path of a page, without its query; `with_body` unless only the headers are wanted."""

    path: str
    with_body: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a page answers: a body of UTF-8 text, its media type and the HTTP status."""

    body: str
    content_type: str = TEXT
    status: Status = Status.OK


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoded:
    """An answer as it is sent; `head` bytes of it come before the body."""

    whole: bytes
    head: int

    def sent(self, *, with_body: bool) -> memoryview:
        """Return what is sent of it, without a copy."""
        return memoryview(self.whole) if with_body else memoryview(self.whole)[: self.head]


def read_request(received: bytes) -> Request | Answer | None:
    """Return what is asked for, or what to answer where that is nothing we could give; None while more is to come."""
    # Some clients send an empty line after a request, which is then before the next.
    text = received.lstrip(b"\r\n")
    end = _HEAD_END.search(text)
    if end is None:
        return _TOO_LARGE if len(received) > MOST_HEAD else None
    if end.end() > MOST_HEAD:
        return _TOO_LARGE
    line = text.partition(b"\n")[0].rstrip(b"\r").decode("latin-1")
    match = _REQUEST_LINE.fullmatch(line)
    if match is None:
        return _refusal(Status.BAD_REQUEST, "This is no HTTP request.")
    method, path, version = match.groups()
    if version != "1":
        return _refusal(Status.VERSION_NOT_SUPPORTED, "Only HTTP/1.0 and HTTP/1.1 are spoken here.")
    if method not in ("GET", "HEAD"):
        return _refusal(Status.METHOD_NOT_ALLOWED, "Everything here is only to be read: GET or HEAD.")
    return Request(path=path or "/", with_body=method == "GET")


def encode(answer: Answer, *, now: float) -> Encoded:
    """Return an answer as bytes; `now` is in seconds since 1970."""
    body = answer.body.encode("utf-8", "replace")
    headers = {
        **_HEADERS,
        "Date": datetime.fromtimestamp(now, UTC).strftime("%a, %d %b %Y %H:%M:%S GMT"),
        "Content-Type": answer.content_type,
        "Content-Length": str(len(body)),
    }
    if answer.status is Status.METHOD_NOT_ALLOWED:
        headers["Allow"] = "GET, HEAD"
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    head = f"HTTP/1.1 {answer.status}\r\n{lines}\r\n".encode("latin-1", "replace")
    return Encoded(whole=head + body, head=len(head))


def _refusal(status: Status, reason: str) -> Answer:
    return Answer(body=f"{reason}\n", status=status)


BROKEN = _refusal(Status.INTERNAL_SERVER_ERROR, "This page could not be made; the log says why.")

_TOO_LARGE = _refusal(Status.TOO_LARGE, f"A request line and its headers may have {MOST_HEAD} bytes together.")
