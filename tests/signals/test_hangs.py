"""SIGTERM ends a program in time also while something that it needs hangs."""

from __future__ import annotations

import fcntl
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fakes.api_faults import Silence
from fakes.api_server import ApiServer
from fakes.four_programs import BIN, PATIENCE, PROGRAMS, Bench, bench
from fakes.kubeconfig import write_kubeconfig

SMALLEST_PIPE = 4096


@pytest.fixture
def silent() -> Iterator[ApiServer]:
    """Give an API server that takes every request and answers none."""
    with ApiServer() as server:
        server.misbehave(Silence(), times=1000)
        yield server


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(("gfd", "--simulated-node=t4", "--publish=nodefeature"), id="gfd, NodeFeature"),
        pytest.param(("gfd", "--simulated-node=t4", "--publish=node"), id="gfd, labels of the Node"),
        pytest.param(("config-manager",), id="config-manager"),
    ],
)
def test_sigterm_ends_it_while_the_api_server_is_silent(
    command: tuple[str, ...], silent: ApiServer, tmp_path: Path
) -> None:
    (tmp_path / "available").mkdir()
    environ = {
        "KUBECONFIG": str(write_kubeconfig(tmp_path / "kubeconfig", silent.url)),
        "NODE_NAME": "a",
        "NAMESPACE": "default",
        "CONFIG_FILE_SRCDIR": str(tmp_path / "available"),
        "CONFIG_FILE_DST": str(tmp_path / "config.yaml"),
    }
    with subprocess.Popen([BIN / command[0], *command[1:]], env=environ, stderr=subprocess.DEVNULL) as process:
        try:
            silent.wait_for(lambda: silent.requests)
            process.terminate()
            assert process.wait(PATIENCE) in {0, 1}
        finally:
            process.kill()


@pytest.fixture(params=PROGRAMS)
def node(request: pytest.FixtureRequest, socket_dir: Path) -> Iterator[Bench]:
    with bench(request.param, socket_dir) as made:
        yield made


def test_sigterm_ends_it_while_nobody_reads_its_log(node: Bench) -> None:
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, SMALLEST_PIPE)
    os.write(writer, b"x" * SMALLEST_PIPE)
    with subprocess.Popen(node.command, env=node.environ, stdout=writer, stderr=writer) as process:
        try:
            # Until it does its work, or hangs on its way there.
            end = time.monotonic() + 3
            while not node.at_work() and time.monotonic() < end:
                time.sleep(0.01)
            process.terminate()
            # Of the daemons of MPS, each has its time to end; nobody else takes more than five seconds.
            assert process.wait(3 * PATIENCE) in {0, 1}
        finally:
            process.kill()
    os.close(reader)
    os.close(writer)
