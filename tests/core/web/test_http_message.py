"""HTTP as bytes: which requests are understood, and how answers look."""

from __future__ import annotations

import pytest

from gpu_core.web.http_message import MOST_HEAD, Answer, Request, Status, encode, read_request


@pytest.mark.parametrize(
    ("received", "request_"),
    [
        pytest.param(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n", Request(path="/healthz"), id="a probe"),
        pytest.param(b"GET / HTTP/1.0\r\n\r\n", Request(path="/"), id="an old client"),
        pytest.param(b"GET / HTTP/1.1\n\n", Request(path="/"), id="a person with netcat"),
        pytest.param(b"\r\nGET / HTTP/1.1\r\n\r\n", Request(path="/"), id="an empty line left over"),
        pytest.param(b"HEAD / HTTP/1.1\r\n\r\n", Request(path="/", with_body=False), id="only the headers"),
        pytest.param(b"GET /readyz?verbose=1#x HTTP/1.1\r\n\r\n", Request(path="/readyz"), id="a query"),
        pytest.param(b"GET http://node:9480/metrics HTTP/1.1\r\n\r\n", Request(path="/metrics"), id="through a proxy"),
        pytest.param(b"GET http://node:9480 HTTP/1.1\r\n\r\n", Request(path="/"), id="through a proxy, no path"),
        pytest.param(b"GET //etc HTTP/1.1\r\n\r\n", Request(path="//etc"), id="two slashes"),
        pytest.param(b"GET /a HTTP/1.1\r\n\r\nGET /b HTTP/1.1\r\n\r\n", Request(path="/a"), id="two requests at once"),
        pytest.param(b"GET /healthz HTTP/1.1\r\nHost: a\r\n", None, id="one whose headers go on"),
        pytest.param(b"GET /healthz HTTP/1.1", None, id="half a line"),
        pytest.param(b"", None, id="nothing yet"),
    ],
)
def test_requests_are_read(received: bytes, request_: Request | None) -> None:
    assert read_request(received) == request_


@pytest.mark.parametrize(
    ("received", "status"),
    [
        pytest.param(b"GET /\r\n\r\n", Status.BAD_REQUEST, id="a version that is missing"),
        pytest.param(b"\x16\x03\x01\x02\r\n\r\n", Status.BAD_REQUEST, id="TLS"),
        pytest.param(b"get / http/1.1\r\n\r\n", Status.BAD_REQUEST, id="small letters"),
        pytest.param(b"PRI * HTTP/2.0\r\n\r\n", Status.VERSION_NOT_SUPPORTED, id="HTTP/2"),
        pytest.param(b"POST / HTTP/1.1\r\n\r\n", Status.METHOD_NOT_ALLOWED, id="what would change something"),
        pytest.param(b"GET / HTTP/1.1\r\na: " + b"x" * MOST_HEAD, Status.TOO_LARGE, id="a header without end"),
        pytest.param(b"GET /" + b"x" * MOST_HEAD + b" HTTP/1.1\r\n\r\n", Status.TOO_LARGE, id="a long path"),
        pytest.param(b"\r\n" * MOST_HEAD, Status.TOO_LARGE, id="empty lines without end"),
    ],
)
def test_what_cannot_be_answered_is_told_why(received: bytes, status: Status) -> None:
    answer = read_request(received)
    assert isinstance(answer, Answer)
    assert answer.status is status


def test_an_answer_is_whole_and_ends_its_connection() -> None:
    encoded = encode(Answer(body="größe\n"), now=784111777.0)
    assert encoded.sent(with_body=True).tobytes().decode() == (
        "HTTP/1.1 200 OK\r\n"
        "Server: k8s-gpu-suite\r\n"
        "Connection: close\r\n"
        "Cache-Control: no-store\r\n"
        "X-Content-Type-Options: nosniff\r\n"
        "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'\r\n"
        "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
        "Content-Type: text/plain; charset=utf-8\r\n"
        "Content-Length: 8\r\n"
        "\r\n"
        "größe\n"
    )
    assert encoded.sent(with_body=False).tobytes().endswith(b"Content-Length: 8\r\n\r\n")


def test_a_refused_method_is_told_which_ones_there_are() -> None:
    encoded = encode(Answer(body="", status=Status.METHOD_NOT_ALLOWED), now=0.0)
    assert b"\r\nAllow: GET, HEAD\r\n" in encoded.whole
