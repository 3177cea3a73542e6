"""Every line of the device plugin's log is its own, whatever gRPC has to complain about."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fakes.four_programs import BIN
from fakes.patience import PATIENCE
from fakes.waiting import wait_for


@contextmanager
def killing(path: Path) -> Iterator[list[int]]:
    """Listen as a kubelet and close every connection at once; gives one number for each."""
    killed: list[int] = []

    def run(listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            killed.append(len(killed))
            connection.close()

    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        thread = threading.Thread(target=run, args=(listener,))
        thread.start()
        try:
            yield killed
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


def log_until(condition: Callable[[list[str]], object], kubelet: Path, plugin_dir: Path, log: Path) -> list[str]:
    """Run the plugin until a condition on its log is true, and return the log."""

    def lines() -> list[str]:
        return log.read_text("utf-8").splitlines()

    flags = ("--simulated-node=t4", f"--kubelet-socket={kubelet}", f"--device-plugin-dir={plugin_dir}")
    with log.open("wb") as stderr:
        process = subprocess.Popen([str(BIN / "nvidia-device-plugin"), *flags], stderr=stderr)
    try:
        wait_for(lambda: condition(lines()), "the plugin does not get that far")
        process.terminate()
        assert process.wait(PATIENCE) == 0
    finally:
        process.kill()
        process.wait()
    return lines()


def test_a_kubelet_that_kills_every_connection_is_told_of_in_lines_of_ours(socket_dir: Path) -> None:
    kubelet = socket_dir / "kubelet.sock"
    with killing(kubelet) as killed:
        lines = log_until(lambda _: len(killed) >= 3, kubelet, socket_dir, socket_dir / "log")
    assert any("kubelet" in json.loads(line)["event"] for line in lines)


def test_a_socket_that_cannot_be_made_is_told_of_in_lines_of_ours(socket_dir: Path) -> None:
    # The directory is there, so that it can be watched, and has no room for a socket's name.
    plugin_dir = socket_dir / ("d" * 90)
    plugin_dir.mkdir()
    kubelet = socket_dir / "kubelet.sock"
    lines = log_until(lambda lines: len(lines) >= 2, kubelet, plugin_dir, socket_dir / "log")
    assert [line for line in lines if not line.startswith('{"')] == []


# Lets gRPC fail at something that it complains about, as soon as the program goes on to what takes long to import.
_COMPLAINING = """
import contextlib, importlib, os, sys
class Look:
    def find_spec(self, name, path=None, target=None):
        if name == "gpu_core.config.programs":
            import grpc, concurrent.futures
            with contextlib.suppress(RuntimeError):
                grpc.server(concurrent.futures.ThreadPoolExecutor(1)).add_insecure_port("unix:/nowhere/socket")
            os._exit(0)
sys.meta_path.insert(0, Look())
importlib.import_module("device_plugin.cli").main()
"""


@pytest.mark.parametrize(
    ("environ", "complains"),
    [
        pytest.param({}, False, id="gRPC is silent"),
        pytest.param({"GRPC_VERBOSITY": "ERROR"}, True, id="gRPC says what somebody wants to hear"),
    ],
)
def test_what_grpc_writes_past_our_log(environ: dict[str, str], *, complains: bool) -> None:
    done = subprocess.run([sys.executable, "-c", _COMPLAINING], env=environ, capture_output=True, text=True, check=True)
    assert ("Failed to add port" in done.stderr) is complains
    assert bool(done.stderr) is complains
