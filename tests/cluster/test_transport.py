from __future__ import annotations

from pathlib import Path

import pytest

from fakes.api_faults import Silence
from fakes.api_server import ApiServer
from fakes.kubeconfig import write_kubeconfig
from gpu_cluster import NODES, UnreachableError, connect
from gpu_cluster.access import Kubeconfig
from gpu_cluster.pace import TokenBucket
from gpu_cluster.transport import Transport


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


def test_a_server_that_stays_silent_is_unreachable_after_the_time_given(server: ApiServer, tmp_path: Path) -> None:
    server.misbehave(Silence())
    transport = Transport(
        Kubeconfig(path=write_kubeconfig(tmp_path / "kubeconfig", server.url)),
        TokenBucket(qps=0, burst=1),
        user_agent="test",
        clock=lambda: 0.0,
        sleep=lambda _seconds: None,
    )
    with pytest.raises(UnreachableError, match="GET /api/v1/nodes"):
        transport.send("GET", "/api/v1/nodes", query={}, read_timeout=0.1)
    transport.close()
    transport.close()


def test_the_program_names_itself(server: ApiServer, tmp_path: Path) -> None:
    server.put_node("a")
    kubeconfig = write_kubeconfig(tmp_path / "kubeconfig", server.url)
    connect(kubeconfig=str(kubeconfig), environ={}, user_agent="k8s-gpu-suite/test").get(NODES, "a")
    assert server.requests[0].headers["user-agent"] == "k8s-gpu-suite/test"
