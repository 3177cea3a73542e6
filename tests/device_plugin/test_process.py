"""The program as a process: its signals, its exit codes, and what it says."""

from __future__ import annotations

import json
import random
import re
import signal
import socket
import threading
from contextlib import ExitStack
from pathlib import Path

import grpc
import pytest

from fakes.patience import PATIENCE
from fakes.plugin_process import process
from fakes.running_plugin import run_plugin
from gpu_core.runtime.supervise import Reload, Rescan
from gpu_demo.kubelet import Kubelet, Listed, Registered
from gpu_kubelet._pb import deviceplugin_pb2 as pb
from gpu_kubelet._pb import deviceplugin_pb2_grpc as rpc

NODE = "--simulated-node=a100x4-pcie"


def threads() -> list[str]:
    """Return the threads of a plugin that run; all others are the kubelet's or gRPC's."""
    ours = re.compile(r"nvidia-|health|directories|mps|supervise")
    return [thread.name for thread in threading.enumerate() if ours.search(thread.name)]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGQUIT])
def test_a_signal_ends_it_cleanly(kubelet: Kubelet, number: signal.Signals) -> None:
    with process(kubelet, NODE) as plugin:
        kubelet.log.wait_for(Listed)
        plugin.send_signal(number)
        _, log = plugin.communicate(timeout=PATIENCE)
    assert plugin.returncode == 0
    assert not (kubelet.directory / "nvidia-gpu.sock").exists()
    lines = [json.loads(line) for line in log.splitlines()]
    running = lines[0]
    assert (running["event"], running["level"]) == ("Running with config", "info")
    assert running["config"]["resources"] == {"gpus": [{"pattern": "*", "name": "nvidia.com/gpu"}]}
    assert [line["reason"] for line in lines if line["event"] == "Stopping"] == [number.name]


def test_clients_that_do_not_read_or_never_speak_do_not_hold_up_the_end(kubelet: Kubelet, tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    # Long enough for a list not to fit into what gRPC sends unread.
    config.write_text("sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 1000}]}}", "utf-8")
    path = kubelet.directory / "nvidia-gpu.sock"
    with process(kubelet, NODE, f"--config-file={config}") as plugin, ExitStack() as stack:
        kubelet.log.wait_for(Listed)
        for said in (b"", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"):
            client = stack.enter_context(socket.socket(socket.AF_UNIX))
            client.connect(str(path))
            client.sendall(said)
        channel = stack.enter_context(grpc.insecure_channel(f"unix:{path}"))
        stub = rpc.DevicePluginStub(channel)
        unread = [stub.ListAndWatch(pb.Empty()) for _ in range(8)]
        # The channel's calls are taken in order: when this one is answered, those have begun.
        stub.GetDevicePluginOptions(pb.Empty())
        plugin.send_signal(signal.SIGTERM)
        # Five seconds are promised; the machine may be busy with other things.
        assert plugin.wait(timeout=60) == 0
        for stream in unread:
            stream.cancel()
    assert not path.exists()


def test_hanging_up_reloads_and_keeps_the_registration(kubelet: Kubelet, tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("version: v1\n", "utf-8")
    with process(kubelet, NODE, f"--config-file={config}") as plugin:
        kubelet.log.wait_for(Listed)
        config.write_text("sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 2}]}}", "utf-8")
        plugin.send_signal(signal.SIGHUP)
        assert len(kubelet.log.wait_for(Listed, times=2).devices) == 8
        assert len(kubelet.log.events(Registered)) == 1


def test_a_start_without_a_driver_is_one_message(kubelet: Kubelet) -> None:
    with process(kubelet, "--device-discovery-strategy=nvml", "--driver-root-ctr-path=/nowhere") as plugin:
        _, log = plugin.communicate(timeout=PATIENCE)
    assert plugin.returncode == 1
    config, message = log.splitlines()
    assert json.loads(config)["event"] == "Running with config"
    assert message.startswith("nvidia-device-plugin: No NVIDIA driver was found")
    assert "/nowhere" in message


def test_whatever_happens_while_it_ends_nothing_is_left_running(kubelet: Kubelet) -> None:
    chance = random.Random(2)
    config = "health: {probeInterval: 100ms, recoveryQuietTime: 0s}"
    for _ in range(8):
        with run_plugin(kubelet, "a100x4-pcie", config=config) as plugin:
            for _ in range(chance.randrange(12)):
                happens = chance.choice(
                    [
                        lambda: plugin.events.put(Reload("SIGHUP")),
                        lambda: plugin.events.put(Rescan("a test")),
                        lambda: plugin.say("event 0 xid=79"),
                        lambda: plugin.say("fail EventSetWait * UNKNOWN count=1"),
                        lambda: plugin.say("heal *"),
                        kubelet.restart,
                    ]
                )
                happens()
        assert threads() == []
