"""What each program says of its config file while it runs: which one is in use, and that it is gone."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fakes.four_programs import Bench, bench
from fakes.http_client import Reply, get, scrape

PATIENCE = 30.0
SHARED = "sharing: {mps: {resources: [{name: nvidia.com/gpu, replicas: 2}]}}"
CONFIGS = {
    "nvidia-device-plugin": "version: v1\n",
    "gpu-feature-discovery": "version: v1\n",
    "mps-control-daemon": f"version: v1\n{SHARED}\n",
}
ODD = "\nflags: {gdsEnabld: true}\n"


@pytest.fixture(params=CONFIGS)
def node(request: pytest.FixtureRequest, socket_dir: Path) -> Iterator[Bench]:
    """Give a program whose config file is a link to the file `a`."""
    with bench(request.param, socket_dir) as made:
        (socket_dir / "a").write_text(CONFIGS[request.param], "utf-8")
        point(socket_dir / "config.yaml", "a")
        flags = (f"--config-file={socket_dir / 'config.yaml'}", "--metrics-address=127.0.0.1:0", "--log-format=json")
        made.command = (*made.command, *flags)
        yield made


def point(link: Path, target: str) -> None:
    """Let a link lead elsewhere in one step."""
    fresh = link.with_name("fresh")
    fresh.symlink_to(target)
    fresh.replace(link)


def lines(node: Bench, part: str) -> list[dict[str, Any]]:
    """Return the lines of the log whose event holds a text."""
    return [line for line in map(json.loads, logged(node)) if part in line["event"]]


def logged(node: Bench) -> list[str]:
    return [line for line in node.log.read_text("utf-8").splitlines() if line.startswith("{")]


def wait_until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "it does not come true"
        time.sleep(0.02)


def in_use(port: int) -> set[tuple[str, str]]:
    """Return the names and digests of the configs that the metrics call in use."""
    return {(sample[1], sample[0]) for sample in scrape(port)["gpu_suite_config_info"]}


def test_an_equal_config_from_another_file_is_named_as_what_is_in_use(node: Bench, socket_dir: Path) -> None:
    node.started()
    (port,) = {line["port"] for line in lines(node, "Answering on HTTP")}
    text = (socket_dir / "a").read_text("utf-8") + ODD
    (socket_dir / "b").write_text(text, "utf-8")
    point(socket_dir / "config.yaml", "b")
    wait_until(lambda: in_use(port) == {("b", hashlib.sha256(text.encode()).hexdigest())})
    wait_until(lambda: lines(node, "gdsEnabld"))
    assert len(lines(node, "gdsEnabld: unknown key; did you mean gdsEnabled?")) == 1


def test_a_config_that_came_through_a_pipe_stays_in_use_when_it_is_asked_for_again(node: Bench) -> None:
    text = CONFIGS[node.command[0].rpartition("/")[2]]
    reader, writer = os.pipe()
    os.write(writer, text.encode())
    os.close(writer)
    process = node.started("--config-file=/dev/stdin", stdin=reader)
    os.close(reader)
    (port,) = {line["port"] for line in lines(node, "Answering on HTTP")}
    wait_until(lambda: get(port, "/readyz").status == 200)
    before = in_use(port)
    assert {digest for _, digest in before} == {hashlib.sha256(text.encode()).hexdigest()}
    process.send_signal(signal.SIGHUP)
    wait_until(lambda: lines(node, "The new configuration is not used; the one before stays"))
    (line,) = lines(node, "The new configuration is not used; the one before stays")
    assert (line.get("error") or line["reason"]).startswith(
        "The config file /dev/stdin is a pipe, which can be read once only."
    )
    assert (in_use(port), get(port, "/readyz").status) == (before, 200)
    assert lines(node, "Reading the configuration again")
    assert lines(node, "cannot be read:") == []


def test_a_config_file_that_is_deleted_is_told_once_and_stays_in_use(node: Bench, socket_dir: Path) -> None:
    node.started()
    (port,) = {line["port"] for line in lines(node, "Answering on HTTP")}
    file = socket_dir / "a"
    wait_until(lambda: get(port, "/readyz").status == 200)
    before, content = in_use(port), file.read_bytes()

    def ready() -> Reply:
        return get(port, "/readyz")

    file.unlink()
    wait_until(lambda: "cannot be read: No such file or directory; what was loaded from it stays" in ready().body)
    assert (ready().status, in_use(port)) == (200, before)
    file.write_bytes(content)
    wait_until(lambda: "cannot be read" not in ready().body)
    wait_until(lambda: lines(node, "The config file can be read again"))
    assert len(lines(node, "cannot be read: No such file or directory")) == 1
    assert lines(node, "Reading the configuration again") == []
