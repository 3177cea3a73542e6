"""A program's HTTP server over real connections: pages, probes, numbers, and what it does not put up with."""

from __future__ import annotations

import io
import json
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from fakes.http_client import get, get_json, scrape
from fakes.waiting import wait_for
from gpu_core.errors import UsageError
from gpu_core.runtime.build import build, version
from gpu_core.runtime.counters import Counters, Metric
from gpu_core.runtime.logs import configure
from gpu_core.runtime.outlet import nobody_waits_for
from gpu_core.runtime.probes import Check, Pulse
from gpu_core.web.endpoints import Endpoints, answering

LOOPBACK = "127.0.0.1:0"
EVENTS = Metric(name="events_total", help="Events.")


class Program:
    """A program to look at."""

    def __init__(self) -> None:
        self.counters = Counters()
        self.ready: tuple[Check, ...] = (Check(name="labels", ok=False, reason="none were published yet"),)
        self.pulse = Pulse(time.monotonic)
        self.endpoints = Endpoints(
            program="gfd",
            counters=self.counters,
            pulse=self.pulse,
            ready=lambda: self.ready,
            page=lambda: "<!DOCTYPE html>\n<title>größe</title>\n",
            document=lambda: {"gpus": []},
            collect=lambda: self.counters.add(EVENTS),
        )

    @contextmanager
    def served(self) -> Iterator[int]:
        with answering(LOOPBACK, self.endpoints) as port:
            assert port is not None
            yield port


def test_readiness_is_a_status_with_reasons() -> None:
    program = Program()
    with program.served() as port:
        before = get(port, "/readyz")
        program.ready = (Check(name="labels", ok=True, reason="published"),)
        after = get(port, "/readyz?verbose")
    assert (before.status, before.body) == (503, "[-] labels: none were published yet\n")
    assert (after.status, after.body) == (200, "[+] labels: published\n")


def test_liveness_is_lost_by_a_loop_that_is_stuck() -> None:
    program = Program()
    program.endpoints = replace(program.endpoints, pulse=Pulse(time.monotonic, longest=-1.0))
    with program.served() as port:
        idle = get(port, "/healthz").status
        with program.endpoints.pulse.turn():
            stuck = get(port, "/healthz")
    assert (idle, stuck.status) == (200, 503)
    assert stuck.body.endswith("the program is stuck\n")


def test_numbers_are_collected_for_every_scrape() -> None:
    program = Program()
    with program.served() as port:
        first, second = scrape(port), scrape(port)
        program.ready = ()
        third = scrape(port)
    assert [numbers["events_total"][()] for numbers in (first, second, third)] == [1, 2, 3]
    assert [numbers["gpu_suite_ready"][()] for numbers in (first, second, third)] == [0, 0, 1]
    assert list(first["gpu_suite_build_info"]) == [("gfd", build("gfd").python, version())]
    assert first["process_resident_memory_bytes"][()] > 1 << 20
    assert 0 < time.time() - first["process_start_time_seconds"][()] < 86400
    assert first["process_open_fds"][()] > 2
    assert first["process_cpu_seconds_total"][()] > 0


def test_pages_say_what_they_are_and_cannot_do_anything() -> None:
    with Program().served() as port:
        page = get(port, "/")
        document = get_json(port)
        head = get(port, "/", method="HEAD")
    assert page.body == "<!DOCTYPE html>\n<title>größe</title>\n"
    assert page.headers["Content-Type"] == "text/html; charset=utf-8"
    assert page.headers["Content-Security-Policy"].startswith("default-src 'none'")
    assert (head.body, head.headers["Content-Length"]) == ("", page.headers["Content-Length"])
    assert document == {"gpus": []}


def test_what_is_not_there_is_said_so() -> None:
    with Program().served() as port:
        missing, refused = get(port, "/nothing"), get(port, "/", method="POST")
    assert (missing.status, missing.lines[0]) == (404, "There is no page '/nothing'. These are:")
    assert (refused.status, refused.headers["Allow"]) == (405, "GET, HEAD")


def test_a_page_that_cannot_be_made_takes_nothing_else_down() -> None:
    log = io.StringIO()
    configure(json=True, stream=log)
    program = Program()

    def broken() -> str:
        raise RuntimeError("a mistake of ours")

    program.endpoints = replace(program.endpoints, page=broken)
    with program.served() as port:
        page, probe = get(port, "/"), get(port, "/healthz")
    assert (page.status, "a mistake" in page.body, probe.status) == (500, False, 200)
    assert "RuntimeError: a mistake of ours" in log.getvalue()


def test_a_number_that_cannot_be_had_takes_no_other_away() -> None:
    log = io.StringIO()
    configure(json=True, stream=log)
    program = Program()

    def broken() -> None:
        raise RuntimeError("a mistake of ours")

    program.counters.add(EVENTS)
    program.endpoints = replace(program.endpoints, collect=broken, ready=broken)  # type: ignore[arg-type]
    with program.served() as port:
        first, second = scrape(port), scrape(port)
        ready = get(port, "/readyz")
    assert first["events_total"] == second["events_total"] == {(): 1}
    assert second["gpu_suite_ready"] == {(): 0}
    assert ready.status == 500
    told = [json.loads(line) for line in log.getvalue().splitlines()]
    assert [line["page"] for line in told if line["level"] == "error"] == [
        "/metrics: collect",
        "/metrics: ready",
        "/readyz",
    ]


def test_a_port_in_use_is_told_once_and_ends_nothing() -> None:
    log = io.StringIO()
    configure(json=True, stream=log)
    with Program().served() as port, answering(f"127.0.0.1:{port}", Program().endpoints) as none:
        assert none is None
        wait_for(lambda: "cannot be listened on" in log.getvalue(), "it is not told")
    problems = [line["event"] for line in map(json.loads, log.getvalue().splitlines()) if line["level"] == "warning"]
    assert len(problems) == 1
    assert problems[0] == (
        f"The address 127.0.0.1:{port} cannot be listened on: Address already in use. It is tried again until it can "
        "be. All else goes on, but probes fail: free it, or choose another with --metrics-address, or none with an "
        "empty one."
    )


def test_what_is_no_address_is_a_mistake_of_the_user() -> None:
    with pytest.raises(UsageError, match="no address to listen on"), answering("9480", Program().endpoints):
        pass


def test_lines_that_nobody_took_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    with open("/dev/full", "w", encoding="utf-8") as full:  # noqa: PTH123  a device
        monkeypatch.setattr(sys, "stderr", full)
        with Program().served() as port, nobody_waits_for("stderr"):
            sys.stderr.write("one\ntwo\n")
            wait_for(lambda: scrape(port)["gpu_suite_lost_lines_total"][("stderr",)] == 2, "it is not counted")
            assert scrape(port)["gpu_suite_lost_lines_total"] == {("stderr",): 2, ("stdout",): 0}


def test_who_was_turned_away_is_counted() -> None:
    with Program().served() as port:
        with socket.create_connection(("127.0.0.1", port)) as client:
            client.sendall(b"nonsense\r\n\r\n")
            assert client.makefile("rb").readline() == b"HTTP/1.1 400 Bad Request\r\n"
        numbers = scrape(port)
    assert numbers["gpu_suite_http_turned_away_total"] == {("malformed",): 1}


def test_a_port_alone_listens_on_every_address() -> None:
    with answering(":0", Program().endpoints) as port:
        assert get(port, "/healthz").status == 200


def test_without_an_address_there_is_no_server() -> None:
    with answering("", Program().endpoints) as port:
        assert port is None


def test_a_build_names_what_the_program_runs_on() -> None:
    found = build("nvidia-device-plugin")
    names = {name for name, _ in found.distributions}
    assert {"gpu-suite-core", "grpcio", "nvidia-device-plugin", "nvidia-ml-py"} <= names
    assert "pytest" not in names
    assert build("no-such-command").version == version()


def test_a_build_leaves_out_what_is_asked_for_on_other_platforms_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = tmp_path / "ours-1.2.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: ours\nVersion: 1.2\n"
        "Requires-Dist: not-installed-here; sys_platform == 'none'\nRequires-Dist: gpu-suite-core\n"
    )
    (installed / "entry_points.txt").write_text("[console_scripts]\nours = ours:main\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    found = build("ours").distributions
    assert ("ours", "1.2") in found
    assert "not-installed-here" not in dict(found)
