"""Two plugins at one socket: the newer one serves, the older one says so, and serves again when that has gone."""

from __future__ import annotations

import signal
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from device_plugin.metrics import REGISTERED
from device_plugin.plugin_api.phases import Patience
from fakes.plugin_process import process
from fakes.plugin_server import PluginServer, device
from fakes.running_plugin import RunningPlugin, run_plugin
from gpu_core.runtime.probes import Check
from gpu_demo.kubelet import Kubelet, Listed, Registered, StreamEnded
from gpu_kubelet.sockets import socket_at

GPU = "nvidia.com/gpu"
SOCKET = "nvidia-gpu.sock"
NODE = "--simulated-node=t4"
PATIENCE = 30.0


def standing(plugin: RunningPlugin) -> Check:
    ((_, check),) = plugin.app.node.served()
    return check


def wait_ready(plugin: RunningPlugin, *, ready: bool) -> str:
    """Wait until the plugin is ready or not; returns the reason. The number is the same as the answer."""
    end = time.monotonic() + PATIENCE
    while (check := standing(plugin)).ok is not ready or plugin.number(REGISTERED) != float(ready):
        assert time.monotonic() < end, (check, plugin.log.getvalue())
        time.sleep(0.01)
    return check.reason


def wait_reason(plugin: RunningPlugin, part: str) -> None:
    end = time.monotonic() + PATIENCE
    while part not in (check := standing(plugin)).reason:
        assert time.monotonic() < end, (check, plugin.log.getvalue())
        time.sleep(0.01)


@contextmanager
def stranger(path: Path, *, listens: bool = True) -> Iterator[None]:
    """Put a socket at a path as a plugin of another make does, which removes what is there and binds."""
    path.unlink()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        if listens:
            server.listen()
        yield


def test_the_newer_one_serves_and_the_older_one_waits_names_it_and_serves_again(kubelet: Kubelet) -> None:
    with run_plugin(kubelet, "t4x1") as older:
        wait_ready(older, ready=True)
        with process(kubelet, NODE) as newer:
            kubelet.log.wait_for(Listed, times=2)
            wait_reason(older, f"Another process serves {kubelet.directory / SOCKET}: process {newer.pid} (")
            wait_ready(older, ready=False)
            assert kubelet.admit(GPU, 1).devices
            newer.send_signal(signal.SIGTERM)
            newer.wait()
            gone = kubelet.log.position
        kubelet.log.wait_for(Listed, after=gone - 1)
        wait_ready(older, ready=True)
        assert older.log.count("Another process serves") == 1
    # One registration for each time that a socket was placed: they do not fight.
    assert len(kubelet.log.events(Registered)) == 3


def test_the_older_one_ends_without_a_trace_in_what_the_newer_one_serves(kubelet: Kubelet) -> None:
    with process(kubelet, NODE) as older:
        kubelet.log.wait_for(Listed)
        with run_plugin(kubelet, "t4x1") as newer:
            kubelet.log.wait_for(Listed, times=2)
            older.send_signal(signal.SIGTERM)
            assert older.wait() == 0
            assert wait_ready(newer, ready=True) == "The kubelet follows the list of devices"
            assert kubelet.admit(GPU, 1).devices
            assert len(kubelet.log.events(Registered)) == 2


def test_a_kubelet_that_restarts_under_two_plugins_is_served_by_the_newer_one(kubelet: Kubelet) -> None:
    # However slow this machine is, the newer one has placed its socket by then.
    with run_plugin(kubelet, "t4x1", patience=Patience(look=0.1, precedence=PATIENCE)) as older:
        wait_ready(older, ready=True)
        with process(kubelet, NODE) as newer:
            kubelet.log.wait_for(Listed, times=2)
            wait_ready(older, ready=False)
            before = kubelet.log.position
            kubelet.restart()
            kubelet.log.wait_for(Listed, after=before)
            wait_reason(older, f"process {newer.pid} (")
            assert len(kubelet.log.events(Registered, after=before)) == 1


def test_a_plugin_that_was_killed_leaves_a_dead_socket_which_the_older_one_replaces(kubelet: Kubelet) -> None:
    with run_plugin(kubelet, "t4x1", patience=Patience(look=0.1)) as older:
        wait_ready(older, ready=True)
        with process(kubelet, NODE) as newer:
            kubelet.log.wait_for(Listed, times=2)
            wait_ready(older, ready=False)
            newer.kill()
            newer.wait()
        wait_ready(older, ready=True)
        assert kubelet.admit(GPU, 1).devices


@pytest.mark.parametrize("listens", [True, False], ids=["that listens", "that nobody listens on"])
def test_another_socket_at_the_path_is_left_alone_only_while_somebody_listens(kubelet: Kubelet, listens: bool) -> None:
    path = kubelet.directory / SOCKET
    with run_plugin(kubelet, "t4x1", patience=Patience(look=0.1)) as plugin:
        wait_ready(plugin, ready=True)
        with stranger(path, listens=listens):
            theirs = socket_at(path)
            if listens:
                wait_reason(plugin, "Another process serves")
                wait_ready(plugin, ready=False)
                assert socket_at(path) == theirs
        kubelet.log.wait_for(Listed, times=2)
        wait_ready(plugin, ready=True)
        assert socket_at(path) != theirs


def test_a_plugin_of_another_make_is_left_alone_with_its_registration(kubelet: Kubelet) -> None:
    with run_plugin(kubelet, "t4x1") as plugin:
        wait_ready(plugin, ready=True)
        server = PluginServer(kubelet.directory, resource=GPU)
        with server:
            (kubelet.directory / server.endpoint).replace(kubelet.directory / SOCKET)
            server.endpoint = SOCKET
            server.send(device("theirs"))
            server.register()
            kubelet.log.wait_for(Listed, matching=lambda listed: "theirs" in listed.health)
            wait_ready(plugin, ready=False)
            assert [listed.id for listed in kubelet.devices(GPU)] == ["theirs"]
            (kubelet.directory / SOCKET).unlink()
        kubelet.log.wait_for(StreamEnded, times=2)
        wait_ready(plugin, ready=True)
        assert "theirs" not in {listed.id for listed in kubelet.devices(GPU)}


def test_a_socket_that_somebody_deletes_is_made_and_registered_again(kubelet: Kubelet) -> None:
    with run_plugin(kubelet, "t4x1") as plugin:
        wait_ready(plugin, ready=True)
        before = kubelet.log.position
        (kubelet.directory / SOCKET).unlink()
        kubelet.log.wait_for(Registered, after=before)
        kubelet.log.wait_for(Listed, after=before)
        wait_ready(plugin, ready=True)


def test_a_directory_that_takes_no_socket_ends_readiness_until_it_does(kubelet: Kubelet) -> None:
    path = kubelet.directory / SOCKET
    with run_plugin(kubelet, "t4x1") as plugin:
        wait_ready(plugin, ready=True)
        path.unlink()
        path.mkdir()
        (path / "in the way").touch()
        wait_reason(plugin, f"The socket {path} cannot be made")
        wait_ready(plugin, ready=False)
        (path / "in the way").unlink()
        path.rmdir()
        wait_ready(plugin, ready=True)
