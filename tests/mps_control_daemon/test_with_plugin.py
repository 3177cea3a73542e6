"""The device plugin and the daemon on one node: they meet in a shared directory and nowhere else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from fakes.mps_bench import Bench, eventually, kill, program, sharing
from fakes.mps_tools import MpsTools
from fakes.running_plugin import RunningPlugin, run_plugin
from gpu_core.devices.simulated.files import load_node
from gpu_demo.kubelet import Kubelet, Listed, Registered

GPU = "nvidia.com/gpu"


@pytest.fixture
def bench(tmp_path: Path, socket_dir: Path, tools: MpsTools) -> Bench:
    bench = Bench(tmp_path, tools)
    # There the plugin looks for it.
    (socket_dir / "k.d").mkdir()
    (socket_dir / "k.d/mps").symlink_to(bench.directory)
    return bench


@contextmanager
def plugin_of(bench: Bench, kubelet: Kubelet, replicas: int = 4) -> Iterator[RunningPlugin]:
    config = yaml.safe_dump(sharing(replicas))
    with run_plugin(kubelet, load_node(str(bench.node)), "--mps-root=/run/nvidia/mps", config=config) as plugin:
        yield plugin


def health(kubelet: Kubelet) -> dict[str, int]:
    """Return how many shares were listed last, by health."""
    listed = kubelet.log.events(Listed)
    devices = listed[-1].devices if listed else ()
    return {word: sum(device.health == word for device in devices) for word in ("Healthy", "Unhealthy")}


@pytest.fixture
def kubelet(socket_dir: Path) -> Iterator[Kubelet]:
    with Kubelet(socket_dir / "k") as running:
        yield running


def test_the_plugin_waits_for_the_daemon_and_registers_as_soon_as_it_is_ready(bench: Bench, kubelet: Kubelet) -> None:
    with plugin_of(bench, kubelet) as plugin:
        plugin.log.wait_for("Waiting for the MPS control daemon")
        assert not kubelet.log.events(Registered)
        with program(bench):
            kubelet.log.wait_for(Listed)
            assert health(kubelet) == {"Healthy": 8, "Unhealthy": 0}


def test_the_plugin_waits_while_the_daemon_runs_for_another_config(bench: Bench, kubelet: Kubelet) -> None:
    bench.configure(sharing(2))
    with program(bench), plugin_of(bench, kubelet) as plugin:
        plugin.log.wait_for("it divides GPUs into 2 parts, but the config asks for 4")
        assert not kubelet.log.events(Registered)
        bench.configure(sharing(4))
        kubelet.log.wait_for(Listed)
        assert health(kubelet) == {"Healthy": 8, "Unhealthy": 0}


def test_devices_are_unhealthy_while_their_daemon_is_down(bench: Bench, kubelet: Kubelet, tools: MpsTools) -> None:
    with program(bench), plugin_of(bench, kubelet) as plugin:
        kubelet.log.wait_for(Listed)
        kill(tools.pids[0])
        # What the daemon's program finds out, the plugin sees at once.
        eventually(lambda: health(kubelet) == {"Healthy": 0, "Unhealthy": 8})
        plugin.log.wait_for("its MPS control daemon cannot be used: it does not answer")
        eventually(lambda: health(kubelet) == {"Healthy": 8, "Unhealthy": 0})
        assert (len(tools.starts), len(kubelet.log.events(Registered))) == (2, 1)


def test_a_reload_of_both_ends_with_both_in_agreement(bench: Bench, kubelet: Kubelet) -> None:
    with program(bench), plugin_of(bench, kubelet) as plugin:
        kubelet.log.wait_for(Listed)
        plugin.config_file.write_text(yaml.safe_dump(sharing(2)))
        # No container is to get a share of which the daemon knows nothing.
        eventually(lambda: health(kubelet) == {"Healthy": 0, "Unhealthy": 4})
        bench.configure(sharing(2))
        eventually(lambda: health(kubelet) == {"Healthy": 4, "Unhealthy": 0})


def test_containers_get_the_pipes_of_the_daemon_that_runs(bench: Bench, kubelet: Kubelet) -> None:
    with program(bench), plugin_of(bench, kubelet):
        kubelet.log.wait_for(Listed)
        (answer,) = kubelet.allocate(GPU, ["GPU-0::0"]).container_responses
        assert answer.envs["CUDA_MPS_PIPE_DIRECTORY"] == "/mps/nvidia.com/gpu/pipe"
        assert [(mount.container_path, mount.host_path) for mount in answer.mounts] == [
            ("/mps/nvidia.com/gpu/pipe", "/run/nvidia/mps/nvidia.com/gpu/pipe"),
            ("/dev/shm", "/run/nvidia/mps/shm"),
        ]
        assert Path(bench.root.pipe(GPU), "control").exists()
