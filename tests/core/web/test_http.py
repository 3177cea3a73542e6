"""A program's HTTP server among clients that mean no good, and at addresses that cannot be had."""

from __future__ import annotations

import resource
import socket
import threading
import tracemalloc
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from fakes.http_client import get
from fakes.patience import PATIENCE
from fakes.waiting import wait_for
from gpu_core.web.addresses import Address
from gpu_core.web.http import Listening, serving
from gpu_core.web.http_connections import Told
from gpu_core.web.http_message import Answer
from gpu_core.web.http_pages import Page

LOOPBACK = Address(host="127.0.0.1", port=0)
MIB = 1 << 20

OK: Page = lambda: Answer(body="ok\n")  # noqa: E731


@dataclass
class Heard:
    """What a server told."""

    failed: list[str] = field(default_factory=list)
    turned_away: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    ports: list[int] = field(default_factory=list)

    @contextmanager
    def serving(self, address: Address = LOOPBACK, pages: Mapping[str, Page] | None = None) -> Iterator[int | None]:
        listening = Listening(began=self.ports.append, impossible=lambda error: self.problems.append(str(error)))
        told = Told(failed=lambda path, _: self.failed.append(path), turned_away=self.turned_away.append)
        with serving(address, {"/healthz": OK} if pages is None else pages, listening=listening, told=told) as port:
            yield port


def open_files() -> set[Path]:
    return set(Path("/proc/self/fd").iterdir())


def connected(port: int | None, sends: bytes = b"") -> socket.socket:
    assert port is not None
    client = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
    if sends:
        client.sendall(sends)
    return client


@contextmanager
def crowd(port: int | None, size: int, sends: bytes = b"") -> Iterator[list[socket.socket]]:
    """Keep connections open that were made one after the other."""
    with ExitStack() as stack:
        yield [stack.enter_context(connected(port, sends)) for _ in range(size)]


@pytest.fixture
def many_files() -> Iterator[None]:
    """Let the process open enough files for both ends of a thousand connections."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8192), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize(
    "sends",
    [
        pytest.param(b"", id="clients that are silent"),
        pytest.param(b"GET /healthz HTTP/1.1\r\nHost: a\r\n", id="clients that never end their headers"),
        pytest.param(b"\x16\x03\x01", id="clients that speak TLS"),
    ],
)
def test_probes_are_answered_beside(sends: bytes) -> None:
    heard = Heard()
    with heard.serving() as port, crowd(port, 200, sends):
        assert [get(port, "/healthz").status for _ in range(5)] == [200] * 5
    assert set(heard.turned_away) == {"displaced"}


@pytest.mark.usefixtures("many_files")
def test_probes_are_answered_beside_a_thousand_connections() -> None:
    with Heard().serving() as port, crowd(port, 1000):
        assert get(port, "/healthz").status == 200


def test_probes_are_answered_beside_clients_that_drip_and_come_back() -> None:
    done = threading.Event()

    def drip(port: int) -> None:
        while not done.is_set():
            try:
                with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as client:
                    while not done.wait(0.02):
                        client.sendall(b"G")
            except OSError:
                # Somebody else has got its place, or the server has ended.
                done.wait(0.02)

    with Heard().serving() as port:
        assert port is not None
        threads = [threading.Thread(target=drip, args=(port,)) for _ in range(80)]
        for thread in threads:
            thread.start()
        try:
            assert [get(port, "/healthz").status for _ in range(10)] == [200] * 10
        finally:
            done.set()
            for thread in threads:
                thread.join()


def test_headers_without_measure_take_no_memory() -> None:
    heard = Heard()
    headers = b"GET /healthz HTTP/1.1\r\n" + b"".join(b"h%d: %s\r\n" % (number, b"x" * 65000) for number in range(97))

    def send(port: int | None) -> None:
        try:
            with connected(port) as client:
                client.sendall(headers)
        except OSError:
            pass

    with heard.serving() as port:
        get(port, "/healthz")
        tracemalloc.start()
        try:
            threads = [threading.Thread(target=send, args=(port,)) for _ in range(32)]
            for thread in threads:
                thread.start()
            assert get(port, "/healthz").status == 200
            for thread in threads:
                thread.join()
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert peak < 20 * MIB
    assert heard.turned_away == ["malformed"] * 32


def test_readers_that_take_nothing_take_no_memory() -> None:
    pages = {"/metrics": lambda: Answer(body="x" * 4 * MIB), "/healthz": OK}
    with Heard().serving(pages=pages) as port:
        get(port, "/healthz")
        tracemalloc.start()
        try:
            with crowd(port, 100, b"GET /metrics HTTP/1.1\r\n\r\n"):
                assert [get(port, "/healthz").status for _ in range(5)] == [200] * 5
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert peak < 40 * MIB


def test_a_large_page_arrives_whole() -> None:
    body = "".join(f"line {number}\n" for number in range(200_000))
    with Heard().serving(pages={"/metrics": lambda: Answer(body=body)}) as port:
        assert get(port, "/metrics").body == body


def test_two_requests_at_once_are_one_answer() -> None:
    request = b"GET /healthz HTTP/1.1\r\n\r\n"
    with Heard().serving() as port, connected(port, request * 2000) as client:
        received = b""
        while more := client.recv(1 << 16):
            received += more
    assert received.count(b"HTTP/1.1 200 OK") == 1


def test_who_has_said_all_it_wants_is_answered() -> None:
    with Heard().serving() as port, connected(port, b"GET /healthz HTTP/1.0\r\n\r\n") as client:
        client.shutdown(socket.SHUT_WR)
        assert client.makefile("rb").read().endswith(b"\r\n\r\nok\n")


def test_a_request_has_one_deadline_however_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpu_core.web.http_connections.PATIENCE", 0.5)
    heard = Heard()
    stuck = threading.Event()
    pages: dict[str, Page] = {
        "/stuck": lambda: Answer(body=str(stuck.wait())),
        "/large": lambda: Answer(body="x" * MIB),
    }
    asks = (b"", b"GET /la", b"GET /stuck HTTP/1.1\r\n\r\n", b"GET /large HTTP/1.1\r\n\r\n")
    with heard.serving(pages=pages) as port, ExitStack() as stack:
        clients = [stack.enter_context(connected(port, ask)) for ask in asks]
        wait_for(lambda: len(heard.turned_away) == len(clients), "not all are turned away")
        stuck.set()
    assert heard.turned_away == ["late"] * len(clients)


def test_a_page_that_never_ends_keeps_no_other_from_anybody() -> None:
    stuck = threading.Event()
    pages = {"/": lambda: Answer(body=str(stuck.wait())), "/healthz": OK}
    with Heard().serving(pages=pages) as port:
        before = threading.active_count()
        with crowd(port, 100, b"GET / HTTP/1.1\r\n\r\n"):
            assert [get(port, "/healthz").status for _ in range(5)] == [200] * 5
            assert threading.active_count() <= before + 2
        stuck.set()


def test_those_who_ask_meanwhile_get_what_is_made_next() -> None:
    begin = threading.Semaphore(0)
    made: list[int] = []

    def page() -> Answer:
        begin.acquire()
        made.append(len(made))
        return Answer(body=f"{made[-1]}\n")

    request = b"GET / HTTP/1.1\r\n\r\n"
    with Heard().serving(pages={"/": page}) as port, connected(port, request) as first, ExitStack() as stack:
        wait_for(lambda: any(thread.name == "page /" for thread in threading.enumerate()), "the page is not being made")
        later = [stack.enter_context(connected(port, request)) for _ in range(5)]
        # Whoever asked before this one was heard as well.
        assert get(port, "/nothing").status == 404
        begin.release()
        assert first.makefile("rb").read().endswith(b"\r\n0\n")
        begin.release()
        assert [client.makefile("rb").read().rpartition(b"\r\n")[2] for client in later] == [b"1\n"] * 5


def test_a_page_that_raises_is_an_answer() -> None:
    def broken() -> Answer:
        raise RuntimeError("a mistake of ours")

    heard = Heard()
    with heard.serving(pages={"/": broken, "/healthz": OK}) as port:
        page, probe = get(port, "/"), get(port, "/healthz")
    assert (page.status, page.body, probe.status) == (500, "This page could not be made; the log says why.\n", 200)
    assert heard.failed == ["/"]


def test_nothing_is_left_open() -> None:
    with Heard().serving():
        pass
    before = open_files()
    for _ in range(3):
        with Heard().serving() as port:
            with crowd(port, 100), crowd(port, 20, b"GET /healthz HTTP/1.1\r\n\r\n"):
                get(port, "/healthz")
            # What is left serves the next ones: the listening socket, the selector and a bell.
            wait_for(lambda: len(open_files() - before) <= 4, "files stay open")
    assert open_files() <= before, "some are new; others' may go meanwhile"
    wait_for(lambda: not any(thread.name == "http-server" for thread in threading.enumerate()), "the server stays")


def test_a_port_that_is_taken_is_served_when_it_is_free() -> None:
    heard = Heard()
    with socket.create_server(("127.0.0.1", 0)) as holder, ExitStack() as stack:
        port = holder.getsockname()[1]
        given = stack.enter_context(heard.serving(Address(host="127.0.0.1", port=port)))
        wait_for(lambda: len(heard.problems) >= 2, "it is not tried again")
        holder.close()
        wait_for(lambda: heard.ports == [port], "it is not served")
        assert (given, get(port, "/healthz").status) == (None, 200)
    assert set(heard.problems) == {"[Errno 98] Address already in use"}


@pytest.mark.parametrize(
    "host",
    [
        pytest.param("192.0.2.1", id="an address that no interface has"),
        pytest.param("no..name", id="a name that nobody can have"),
    ],
)
def test_an_address_that_cannot_be_had_harms_nobody(host: str) -> None:
    heard = Heard()
    with heard.serving(Address(host=host, port=0)) as port:
        assert port is None
        wait_for(lambda: bool(heard.problems), "no problem is told")
    assert heard.ports == []


def test_a_name_is_looked_up_while_the_program_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    found, look_up = threading.Event(), socket.getaddrinfo

    def slowly(*place: Any, **how: Any) -> Any:
        return (how.get("flags") == socket.AI_PASSIVE and not found.wait(PATIENCE)) or look_up(*place, **how)

    monkeypatch.setattr("socket.getaddrinfo", slowly)
    heard = Heard()
    with heard.serving(Address(host="localhost", port=0)) as port:
        assert port is None
        found.set()
        wait_for(lambda: bool(heard.ports), "nobody listens")
        assert get(heard.ports[0], "/healthz").status == 200
    assert heard.problems == []
