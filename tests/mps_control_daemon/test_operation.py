"""What the MPS control daemon tells of itself: ready exactly while every control daemon runs as it should."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fakes.http_client import get, get_json, scrape
from fakes.mps_bench import IDLE, RELOAD, Bench, kill, sharing
from fakes.mps_tools import MpsTools
from gpu_core.devices.driver_threads import DriverThreads
from gpu_core.runtime.probes import Pulse
from gpu_core.web.endpoints import answering
from mps_control_daemon.app import App
from mps_control_daemon.serve import endpoints

GPU = "nvidia.com/gpu"
RUNS = f"[+] {GPU}: it runs for 2 GPUs, with up to 4 clients each\n"


@pytest.fixture
def bench(tmp_path: Path, tools: MpsTools) -> Bench:
    return Bench(tmp_path, tools)


@contextmanager
def watched(bench: Bench, app: App) -> Iterator[int]:
    with answering("127.0.0.1:0", endpoints(app, bench.counters, Pulse(time.monotonic), DriverThreads())) as port:
        assert port is not None
        yield port


def test_readiness_follows_the_daemons_as_the_readiness_file_does(bench: Bench, tools: MpsTools) -> None:
    app = bench.start()
    with watched(bench, app) as port:
        before = get(port, "/readyz")
        app.act(IDLE)
        started = get(port, "/readyz")
        kill(tools.pids[-1])
        bench.after(1)
        app.act(IDLE)
        lost = get(port, "/readyz")
        assert bench.ready is None
        bench.after(60)
        app.act(IDLE)
        again = get(port, "/readyz")
        alive = get(port, "/healthz")
        numbers = scrape(port)
        app.stop()
    assert (before.status, before.body) == (503, "[-] MPS: the node's GPUs are being read for the first time\n")
    assert (started.status, started.body) == (200, RUNS)
    assert (lost.status, "its process has ended" in lost.body) == (503, True)
    assert (again.status, alive.status) == (200, 200)
    assert numbers["mps_control_daemon_up"] == {(GPU,): 1}
    assert numbers["mps_control_daemon_deaths_total"] == {(GPU,): 1}


def test_a_daemon_that_cannot_be_started_is_the_reason(bench: Bench, tools: MpsTools) -> None:
    tools.remove("nvidia-cuda-mps-control")
    app = bench.start()
    with watched(bench, app) as port:
        app.act(IDLE)
        reply, numbers = get(port, "/readyz"), scrape(port)
    assert (reply.status, "it cannot be started: nvidia-cuda-mps-control was not found" in reply.body) == (503, True)
    assert numbers["mps_control_daemon_start_failures_total"] == {(GPU,): 1}
    assert numbers["gpu_suite_ready"] == {(): 0}


def test_without_anything_to_share_being_there_is_enough(bench: Bench) -> None:
    bench.configure("version: v1\n")
    app = bench.start()
    with watched(bench, app) as port:
        app.act(IDLE)
        reply, numbers = get(port, "/readyz"), scrape(port)
    assert (reply.status, "Nothing is shared through MPS" in reply.body) == (200, True)
    assert numbers["gpu_suite_config_info"] == {(hashlib.sha256(b"version: v1\n").hexdigest(), "config.yaml"): 1}


def test_gpus_that_cannot_be_read_are_waited_for_and_that_is_told(bench: Bench) -> None:
    bench.happens("fail Init * DRIVER_NOT_LOADED")
    app = bench.start()
    with watched(bench, app) as port:
        app.act(IDLE)
        waiting = get(port, "/readyz")
        bench.happens("heal *")
        bench.after(60)
        app.act(IDLE)
        ready = get(port, "/readyz")
        app.stop()
    assert (waiting.status, "DRIVER_NOT_LOADED" in waiting.body) == (503, True)
    assert ready.body == RUNS


def test_the_page_shows_daemons_and_configuration(bench: Bench) -> None:
    app = bench.start()
    with watched(bench, app) as port:
        app.act(IDLE)
        bench.configure(sharing(replicas=2))
        app.act(RELOAD)
        page, document, numbers = get(port, "/").body, get_json(port), scrape(port)
        app.stop()
    assert "with up to 2 clients each" in page
    assert "replicas: 2" in page
    assert document["checks"][0]["name"] == GPU
    assert numbers["mps_control_daemon_config_loads_total"]["applied",] >= 1
