"""The plugin as a process that is watched over HTTP, from before its GPUs were read until after its end."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fakes.api_objects import Key
from fakes.api_server import ApiServer
from fakes.http_client import get, get_json, scrape
from fakes.kubeconfig import write_kubeconfig
from fakes.patience import PATIENCE
from gpu_demo.kubelet import Behaviour, Kubelet, Listed, Registered

PROGRAM = Path(sys.executable).parent / "nvidia-device-plugin"


@contextmanager
def process(kubelet: Kubelet, *flags: str) -> Iterator[subprocess.Popen[str]]:
    command = [
        str(PROGRAM),
        f"--kubelet-socket={kubelet.socket}",
        f"--device-plugin-dir={kubelet.directory}",
        "--simulated-node=t4",
        *flags,
    ]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as plugin:
        try:
            yield plugin
        finally:
            plugin.kill()


def port_of(plugin: subprocess.Popen[str]) -> int:
    """Return where the plugin says that it answers."""
    assert plugin.stderr is not None
    for line in plugin.stderr:
        entry = json.loads(line)
        if entry["event"] == "Answering on HTTP":
            return int(entry["port"])
    raise AssertionError


def conditions(server: ApiServer) -> list[str]:
    status = server.node("node-a").get("status", {})
    return [entry["status"] for entry in status.get("conditions", []) if entry["type"] == "GPUHealthy"]


def test_a_running_plugin_is_watched_over_http(kubelet: Kubelet) -> None:
    with process(kubelet, "--metrics-address=127.0.0.1:0", "--node-name=node-a") as plugin:
        port = port_of(plugin)
        kubelet.log.wait_for(Listed)
        assert get(port, "/healthz").status == 200
        assert get_json(port)["node"] == "node-a"
        assert scrape(port)["nvidia_device_plugin_scans_total"][()] >= 1
        plugin.send_signal(signal.SIGTERM)
        assert plugin.wait(timeout=PATIENCE) == 0
    with pytest.raises(ConnectionRefusedError):
        get(port, "/healthz")


def test_a_running_plugin_is_found_by_its_name_alone(kubelet: Kubelet) -> None:
    """As the original's config manager looks for it: by the first word of the command line, and nothing else."""
    with process(kubelet, "--metrics-address=127.0.0.1:0") as plugin:
        port_of(plugin)
        words = Path(f"/proc/{plugin.pid}/cmdline").read_bytes().rstrip(b"\0").split(b"\0")

        assert words[:2] == [b"nvidia-device-plugin", f"--kubelet-socket={kubelet.socket}".encode()]


def test_an_unhealthy_gpu_is_told_to_the_cluster(kubelet: Kubelet, tmp_path: Path) -> None:
    events = tmp_path / "events"
    events.touch()
    with ApiServer() as server:
        server.put_node("node-a")
        flags = ["--node-events", "--node-condition=GPUHealthy", "--node-name=node-a", f"--simulated-events={events}"]
        kubeconfig = write_kubeconfig(tmp_path / "kubeconfig", server.url)
        with process(kubelet, f"--kubeconfig={kubeconfig}", *flags) as plugin:
            kubelet.log.wait_for(Listed)
            server.wait_for(lambda: conditions(server) == ["True"])
            events.write_text("event 0 xid=79\n")
            server.wait_for(lambda: server.store.list("events"))
            server.wait_for(lambda: conditions(server) == ["False"])
            plugin.send_signal(signal.SIGTERM)
            assert plugin.wait(timeout=PATIENCE) == 0


def test_the_start_up_taint_goes_once_the_kubelet_follows(kubelet: Kubelet, tmp_path: Path) -> None:
    taint = {"key": "example.com/gpu-not-ready", "effect": "NoSchedule"}
    with ApiServer() as server:
        server.put_node("node-a")
        server.store.edit(Key("nodes", "", "node-a"), lambda node: node.update(spec={"taints": [taint]}))
        flags = [f"--remove-taint={taint['key']}", "--node-name=node-a"]
        kubeconfig = write_kubeconfig(tmp_path / "kubeconfig", server.url)
        kubelet.behaviour = Behaviour(opens_stream=False)
        with process(kubelet, f"--kubeconfig={kubeconfig}", *flags) as plugin:
            kubelet.log.wait_for(Registered)
            assert server.node("node-a")["spec"]["taints"] == [taint]
            kubelet.behaviour = Behaviour()
            kubelet.restart()
            server.wait_for(lambda: server.node("node-a")["spec"]["taints"] == [])
            assert kubelet.log.events(Listed)
            plugin.send_signal(signal.SIGTERM)
            assert plugin.wait(timeout=PATIENCE) == 0
    assert server.node("node-a")["spec"]["taints"] == []
