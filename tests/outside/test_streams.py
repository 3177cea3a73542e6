"""Every program as a process whose log nobody reads, or cannot be written at all."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fakes.four_programs import BIN, Bench
from fakes.patience import PATIENCE
from fakes.waiting import wait_for
from gpu_demo.kubelet import Kubelet, Listed

_SMALLEST_PIPE = 4096
_NODE = "--simulated-node=h100x8"


@contextmanager
def stalled_pipe(room: int = 0) -> Iterator[tuple[int, int]]:
    """Give both ends of a pipe that holds so many more bytes."""
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, _SMALLEST_PIPE)
    os.write(writer, b"\n" * (_SMALLEST_PIPE - room))
    try:
        yield reader, writer
    finally:
        os.close(reader)
        os.close(writer)


@contextmanager
def closed_pipe() -> Iterator[int]:
    """Give the writing end of a pipe that nobody can ever read."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        yield writer
    finally:
        os.close(writer)


def test_a_log_that_nobody_reads_keeps_no_program_from_its_work_nor_from_its_end(node: Bench) -> None:
    with stalled_pipe() as (_, writer):
        process = node.started(stdout=writer, stderr=writer)
        process.terminate()
        assert process.wait(PATIENCE) == 0
    assert node.left() == []


def test_a_log_that_nobody_can_read_changes_nothing(node: Bench) -> None:
    with closed_pipe() as writer:
        process = node.started(stdout=writer, stderr=writer)
        process.terminate()
        assert process.wait(PATIENCE) == 0
    assert node.left() == []


def test_a_log_that_is_closed_changes_nothing(node: Bench) -> None:
    node.around = ("sh", "-c", 'exec "$@" >&- 2>&- <&-', "sh")
    process = node.started()
    process.terminate()
    assert process.wait(PATIENCE) == 0
    assert node.left() == []


def test_a_log_on_a_full_disk_changes_nothing(node: Bench) -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    try:
        process = node.started(stdout=full, stderr=full)
    finally:
        os.close(full)
    process.terminate()
    assert process.wait(PATIENCE) == 0


@pytest.mark.parametrize(
    ("command", "code"),
    [
        pytest.param(("nvidia-device-plugin", "--metrics-address=9480", "--simulated-node=t4"), 1, id="a failed start"),
        pytest.param(("nvidia-device-plugin", "--no-such-flag"), 1, id="a mistake of the user"),
        pytest.param(("nvidia-device-plugin", "--version"), 0, id="its version"),
        pytest.param(("gfd", "--oneshot", "--simulated-node=t4", "--publish=stdout"), 0, id="labels once"),
        pytest.param(("gfd", "topology", "--simulated-node=t4"), 0, id="a picture"),
        pytest.param(("config-manager", "--no-such-flag"), 1, id="config-manager"),
        pytest.param(("mps-control-daemon", "--mps-root-ctr=/nowhere"), 1, id="MPS control daemon"),
    ],
)
@pytest.mark.parametrize("way", ["read", "nobody reads", "nobody can read", "closed", "full disk"])
def test_exit_codes_do_not_depend_on_standard_error(command: tuple[str, ...], code: int, way: str) -> None:
    run = [str(BIN / command[0]), *command[1:]]
    if way == "closed":
        run = ["sh", "-c", 'exec "$@" 2>&-', "sh", *run]
    with stalled_pipe() as (_, stalled), closed_pipe() as closed, Path("/dev/full").open("wb") as full:
        streams = {"nobody reads": stalled, "nobody can read": closed, "full disk": full.fileno()}
        stderr = streams.get(way, subprocess.DEVNULL)
        done = subprocess.run(run, stdout=subprocess.DEVNULL, stderr=stderr, timeout=PATIENCE, check=False)
    assert done.returncode == code


def test_every_gpu_is_told_unhealthy_while_nobody_reads_the_log(kubelet: Kubelet, tmp_path: Path) -> None:
    events = tmp_path / "events"
    events.touch()
    command = [
        str(BIN / "nvidia-device-plugin"),
        _NODE,
        f"--simulated-events={events}",
        f"--kubelet-socket={kubelet.socket}",
        f"--device-plugin-dir={kubelet.directory}",
    ]
    with stalled_pipe(room=_SMALLEST_PIPE) as (reader, writer), subprocess.Popen(command, stderr=writer) as plugin:
        try:
            kubelet.log.wait_for(Listed)
            with events.open("a", encoding="utf-8") as happens:
                happens.writelines(f"event {index} xid=79\n" for index in range(8))
            wait_for(lambda: unhealthy(kubelet) == 8, "not all were told")
            plugin.terminate()
            assert plugin.wait(PATIENCE) == 0
        finally:
            plugin.kill()
        # What went through is whole: the pipe was empty, so the first lines are there.
        first = os.read(reader, _SMALLEST_PIPE).splitlines()[0]
    assert json.loads(first)["event"]


_PRINTING = ("--simulated-node=t4", "--use-node-feature-api=false", "-o", "")


def test_labels_that_nobody_reads_keep_a_daemon_neither_from_its_signals_nor_from_its_end(tmp_path: Path) -> None:
    log = tmp_path / "log"
    command = [str(BIN / "gfd"), *_PRINTING]
    with stalled_pipe() as (_, writer), log.open("wb") as stderr:
        daemon = subprocess.Popen(command, stdout=writer, stderr=stderr)
        try:
            wait_for(lambda: "nobody has read it for 2 s" in log.read_text("utf-8"), "it was not told")
            daemon.send_signal(signal.SIGHUP)
            wait_for(lambda: "Reading the configuration again" in log.read_text("utf-8"), "it does not reload")
            daemon.terminate()
            # One that its watchdog had to end returns 1.
            assert daemon.wait(PATIENCE) == 0
        finally:
            daemon.kill()
            daemon.wait(PATIENCE)


def test_labels_once_wait_for_whoever_reads_them_and_a_signal_ends_that() -> None:
    with stalled_pipe() as (_, writer):
        once = subprocess.Popen([str(BIN / "gfd"), "--oneshot", *_PRINTING], stdout=writer, stderr=subprocess.DEVNULL)
        try:
            wait_for(lambda: waits_for_a_reader(once.pid), "it does not print")
            once.terminate()
            assert once.wait(PATIENCE) == -signal.SIGTERM
        finally:
            once.kill()
            once.wait(PATIENCE)


def waits_for_a_reader(pid: int) -> bool:
    """Whether a process sleeps while it writes into a pipe; not every kernel tells where it sleeps."""
    process = Path(f"/proc/{pid}")
    state = process.joinpath("stat").read_text("utf-8").rpartition(") ")[2][0]
    function = process.joinpath("wchan").read_text("utf-8")
    return state == "S" and ("pipe" in function or function == "0")


def unhealthy(kubelet: Kubelet) -> int:
    """Return how many devices are unhealthy in the last list."""
    lists = kubelet.log.events(Listed)
    return sum(device.health == "Unhealthy" for device in lists[-1].devices) if lists else 0
