"""The program as a process: its signals, its exit codes, and what it says."""

from __future__ import annotations

import json
import random
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fakes.running_plugin import run_plugin
from gpu_core.runtime.events import Reload, Rescan
from gpu_demo.kubelet import Kubelet, Listed, Registered

PROGRAM = Path(sys.executable).parent / "nvidia-device-plugin"
NODE = "--simulated-node=a100x4-pcie"


@contextmanager
def process(kubelet: Kubelet, *flags: str) -> Iterator[subprocess.Popen[str]]:
    command = [str(PROGRAM), f"--kubelet-socket={kubelet.socket}", f"--device-plugin-dir={kubelet.directory}", *flags]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as plugin:
        try:
            yield plugin
        finally:
            plugin.kill()


def threads() -> list[str]:
    """Return the threads of a plugin that run; all others are the kubelet's or gRPC's."""
    ours = re.compile(r"nvidia-|health|directories|mps|supervise")
    return [thread.name for thread in threading.enumerate() if ours.search(thread.name)]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGQUIT])
def test_a_signal_ends_it_cleanly(kubelet: Kubelet, number: signal.Signals) -> None:
    with process(kubelet, NODE) as plugin:
        kubelet.log.wait_for(Listed)
        plugin.send_signal(number)
        _, log = plugin.communicate(timeout=20)
    assert plugin.returncode == 0
    assert not (kubelet.directory / "nvidia-gpu.sock").exists()
    lines = [json.loads(line) for line in log.splitlines()]
    running = lines[0]
    assert (running["event"], running["level"]) == ("Running with config", "info")
    assert running["config"]["resources"] == {"gpus": [{"pattern": "*", "name": "nvidia.com/gpu"}]}
    assert [line["reason"] for line in lines if line["event"] == "Stopping"] == [number.name]


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
        _, log = plugin.communicate(timeout=20)
    assert plugin.returncode == 1
    config, message = log.splitlines()
    assert json.loads(config)["event"] == "Running with config"
    assert message.startswith("nvidia-device-plugin: No NVIDIA driver was found")
    assert "/nowhere" in message


def test_whatever_happens_while_it_ends_nothing_is_left_running(kubelet: Kubelet) -> None:
    chance = random.Random(2)
    config = "health: {probeInterval: 5ms, recoveryQuietTime: 0s}"
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
