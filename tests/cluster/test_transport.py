from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from fakes.api_faults import Drip, Fault, Silence
from fakes.api_server import ApiServer
from fakes.kubeconfig import write_kubeconfig
from gpu_cluster import NODES, UnreachableError, connect
from gpu_cluster.access import Kubeconfig
from gpu_cluster.rate import TokenBucket
from gpu_cluster.transport import Transport
from gpu_core.errors import Ending


def test_requests_beyond_the_burst_wait_for_their_turn(server: ApiServer, tmp_path: Path) -> None:
    server.put_node("a")
    waited: list[float] = []
    cluster = connect(
        kubeconfig=str(write_kubeconfig(tmp_path / "kubeconfig", server.url)),
        qps=5.0,
        burst=2,
        environ={},
        clock=lambda: 0.0,
        sleep=waited.append,
    )
    for _ in range(4):
        cluster.get(NODES, "a")
    assert waited == pytest.approx([0.2, 0.4])
    cluster.close()


@pytest.fixture
def transport(server: ApiServer, tmp_path: Path) -> Iterator[Transport]:
    opened = Transport(
        Kubeconfig(path=write_kubeconfig(tmp_path / "kubeconfig", server.url)),
        TokenBucket(qps=0, burst=1),
        user_agent="test",
        clock=lambda: 0.0,
        sleep=lambda _seconds: None,
        stopped=lambda: False,
    )
    yield opened
    opened.close()


def ask(transport: Transport, *, timeout: float) -> bytes:
    return transport.ask("GET", "/api/v1/nodes", query={}, content_type="", accept="application/json", timeout=timeout)


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(Silence(), id="it accepts and never answers"),
        pytest.param(Drip(), id="its answer drips and never ends"),
    ],
)
def test_a_server_that_gives_no_whole_answer_is_unreachable_after_the_time_given(
    server: ApiServer, transport: Transport, fault: Fault
) -> None:
    server.misbehave(fault)
    with pytest.raises(UnreachableError, match="GET /api/v1/nodes"):
        ask(transport, timeout=0.3)
    assert ask(transport, timeout=30).startswith(b"{")


def test_a_watch_that_does_not_begin_is_unreachable_after_the_time_given(
    server: ApiServer, transport: Transport
) -> None:
    server.misbehave(Silence())
    with pytest.raises(UnreachableError, match="GET /api/v1/nodes"):
        transport.open("/api/v1/nodes", query={"watch": "true"}, accept="", timeout=0.3, silence=600)


def test_the_end_gives_up_what_a_silent_server_was_asked(server: ApiServer, transport: Transport) -> None:
    server.misbehave(Silence())
    raised: list[Ending] = []

    def wait() -> None:
        try:
            ask(transport, timeout=600)
        except Ending as error:
            raised.append(error)

    waiting = threading.Thread(target=wait)
    waiting.start()
    server.wait_for(lambda: server.requests)
    transport.close()
    waiting.join(60)
    assert len(raised) == 1
    with pytest.raises(Ending):
        ask(transport, timeout=600)
    assert len(server.requests) == 1


def test_a_program_that_ends_gives_up_what_it_asked(server: ApiServer, tmp_path: Path) -> None:
    server.misbehave(Silence())
    kubeconfig = write_kubeconfig(tmp_path / "kubeconfig", server.url)
    cluster = connect(kubeconfig=str(kubeconfig), environ={}, stopped=lambda: bool(server.requests))
    with pytest.raises(Ending):
        cluster.get(NODES, "a")


def test_the_program_names_itself(server: ApiServer, tmp_path: Path) -> None:
    server.put_node("a")
    kubeconfig = write_kubeconfig(tmp_path / "kubeconfig", server.url)
    connect(kubeconfig=str(kubeconfig), environ={}, user_agent="k8s-gpu-suite/test").get(NODES, "a")
    assert server.requests[0].headers["user-agent"] == "k8s-gpu-suite/test"
