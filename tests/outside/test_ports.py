"""Every program as a process whose port for probes and numbers cannot be had."""

from __future__ import annotations

import json
import socket

from fakes.four_programs import Bench
from fakes.http_client import get
from fakes.patience import PATIENCE
from fakes.waiting import wait_for


def said(node: Bench) -> list[str]:
    """Return the events in the log, without what control daemons of MPS say."""
    lines = node.log.read_text("utf-8").splitlines()
    return [json.loads(line)["event"] for line in lines if line.startswith("{") and line.endswith("}")]


def test_a_taken_port_keeps_no_program_from_its_work(node: Bench) -> None:
    with socket.create_server(("127.0.0.1", 0)) as holder:
        port = holder.getsockname()[1]
        process = node.started(f"--metrics-address=127.0.0.1:{port}")
        wait_for(lambda: any("cannot be listened on" in event for event in said(node)), "the port is not spoken of")
        holder.close()
        wait_for(lambda: "Answering on HTTP" in said(node), "nobody answers")
        assert get(port, "/healthz").status == 200
        process.terminate()
        assert process.wait(PATIENCE) == 0
    assert sum("cannot be listened on: Address already in use" in event for event in said(node)) == 1


def test_what_is_no_address_ends_the_start(node: Bench) -> None:
    assert node.start("--metrics-address=9480").wait(PATIENCE) == 1
    assert "'9480' is no address to listen on" in node.log.read_text("utf-8").splitlines()[-1]
