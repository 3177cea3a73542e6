"""The loop, driven step by step: events in, labels in a file out."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fakes.api_faults import Refuse
from fakes.api_objects import Key
from fakes.api_server import ApiServer
from fakes.kubeconfig import write_kubeconfig
from gpu_cluster import UnauthorizedError
from gpu_core.config.load import load
from gpu_core.config.programs import GPU_FEATURE_DISCOVERY
from gpu_core.errors import HardwareError, UsageError
from gpu_core.runtime.counters import Counters
from gpu_core.runtime.events import EventQueue
from gpu_core.runtime.logs import configure
from gpu_core.runtime.supervise import Actions
from gpu_feature_discovery.daemon import FAILURES, LABELS, PASSES, Daemon

NODE = """
machine: Box
gpus:
  - {name: NVIDIA L40S, count: 2, memory: 46068, compute_capability: "8.9"}
"""


class Bench:
    """A daemon on a simulated node, with a clock that only the test moves."""

    def __init__(self, tmp_path: Path, *argv: str) -> None:
        self.log = io.StringIO()
        configure(json=True, stream=self.log)
        self.time = 0.0
        self.clock_is_broken = False
        self.node = tmp_path / "node.yaml"
        self.node.write_text(NODE)
        self.happenings = tmp_path / "events"
        self.happenings.touch()
        self.config = tmp_path / "config.yaml"
        self.config.touch()
        self.output = tmp_path / "gfd"
        self.events = EventQueue()
        self.counters = Counters()
        self.argv = [
            f"--simulated-node={self.node}",
            f"--simulated-events={self.happenings}",
            f"--config-file={self.config}",
            *(argv or ("--publish=file", f"--output-file={self.output}")),
        ]
        self.daemon = self.start()

    def start(self) -> Daemon:
        return Daemon(
            load(GPU_FEATURE_DISCOVERY, self.argv, {}),
            self.events,
            clock=lambda: self.time,
            now=self.now,
            counters=self.counters,
        )

    def now(self) -> float:
        if self.clock_is_broken:
            raise OSError("no clock")
        return 1_700_000_000 + self.time

    def happen(self, line: str) -> None:
        with self.happenings.open("a") as file:
            file.write(f"{line}\n")

    def step(self, seconds: float = 0.0, **actions: Any) -> float | None:
        self.time += seconds
        return self.daemon.act(Actions(**actions))

    def labels(self) -> dict[str, str]:
        lines = (line.partition("=") for line in self.output.read_text().splitlines())
        return {key.removeprefix("nvidia.com/"): value for key, _, value in lines}

    def logged(self, level: str) -> list[str]:
        lines = (json.loads(line) for line in self.log.getvalue().splitlines())
        return [line["event"] for line in lines if line["level"] == level]

    def counted(self) -> dict[str, float]:
        return {
            " ".join([sample.metric.name, *(value for _, value in sample.labels)]): sample.value
            for sample in self.counters.snapshot()
        }


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_the_first_pass_labels_the_node(bench: Bench) -> None:
    assert bench.step() == 5.0
    assert bench.labels()["gpu.count"] == "2"
    assert bench.labels()["gpu.machine"] == "Box"
    assert bench.labels()["gfd.timestamp"] == "1700000000"
    assert bench.counted()[PASSES.name] == 1


def test_the_start_is_one_log_line_with_the_configuration(bench: Bench) -> None:
    line = json.loads(bench.log.getvalue().splitlines()[0])
    assert line["event"] == "Running with config"
    assert line["config"]["flags"]["gfd"]["outputFile"] == str(bench.output)


def test_labels_follow_the_node_after_each_interval(bench: Bench) -> None:
    bench.step()
    bench.happen("fail DeviceGetMemoryInfo * NOT_SUPPORTED")
    bench.step(60)
    assert "gpu.memory" not in bench.labels()
    bench.happen("heal *")
    bench.step(60)
    assert bench.labels()["gpu.memory"] == "46068"
    assert bench.labels()["gfd.timestamp"] == "1700000000"


def test_a_change_of_the_devices_is_labelled_at_once(bench: Bench) -> None:
    bench.step()
    bench.happen("remove 1")
    bench.step(5)
    assert bench.labels()["gpu.count"] == "1"
    assert bench.counted()[PASSES.name] == 2


def test_a_look_without_a_change_is_no_pass(bench: Bench) -> None:
    bench.step()
    bench.step(5)
    assert bench.counted()[PASSES.name] == 1


def test_a_lost_gpu_costs_its_own_labels_and_is_logged_once(bench: Bench) -> None:
    bench.step()
    bench.happen("fail DeviceGetHandleByIndex 1 GPU_IS_LOST")
    for _ in range(3):
        bench.step(60)
    assert bench.labels()["gpu.count"] == "1"
    assert bench.logged("warning") == ["GPU 1 has no labels: nvmlDeviceGetHandleByIndex failed with GPU_IS_LOST."]
    assert bench.counted()[f"{FAILURES.name} labels"] == 3


def test_a_driver_that_goes_takes_the_gpu_labels_along_until_it_comes_back(bench: Bench) -> None:
    bench.step()
    bench.happen("fail Init * DRIVER_NOT_LOADED")
    bench.step(60)
    assert set(bench.labels()) == {"gfd.timestamp", "vgpu.present"}
    assert bench.counted()[f"{FAILURES.name} driver"] == 1
    bench.happen("heal *")
    bench.step(60)
    assert bench.labels()["gpu.count"] == "2"


def test_a_driver_that_cannot_count_is_no_end_either(bench: Bench) -> None:
    bench.step()
    bench.happen("fail DeviceGetCount * GPU_IS_LOST")
    bench.step(60)
    assert "gpu.count" not in bench.labels()


def test_an_unexpected_failure_leaves_the_labels_as_they_are(bench: Bench) -> None:
    bench.step()
    before = bench.labels()
    bench.clock_is_broken = True
    assert bench.step(60) == 5.0
    assert bench.labels() == before
    assert bench.logged("error") == ["The node could not be described; its labels stay as they are"]


def test_a_driver_that_never_was_ends_the_program(bench: Bench) -> None:
    bench.happen("fail Init * DRIVER_NOT_LOADED")
    with pytest.raises(HardwareError):
        bench.step()


def test_a_driver_that_comes_late_is_waited_for_when_asked(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "--publish=file", f"--output-file={tmp_path / 'gfd'}", "--fail-on-init-error=false")
    bench.happen("fail Init * DRIVER_NOT_LOADED")
    bench.step()
    assert set(bench.labels()) == {"gfd.timestamp", "vgpu.present"}
    bench.happen("heal *")
    bench.step(60)
    assert bench.labels()["gpu.count"] == "2"


def test_a_reload_takes_the_new_configuration_and_labels_at_once(bench: Bench) -> None:
    bench.step()
    bench.config.write_text("flags: {migStrategy: mixed}\n")
    bench.step(7, reload=("SIGHUP",))
    assert bench.labels()["mig.strategy"] == "mixed"
    assert bench.labels()["gfd.timestamp"] == "1700000007"


def test_a_broken_configuration_is_not_taken(bench: Bench) -> None:
    bench.step()
    bench.config.write_text("flags: {migStrategy: double}\n")
    bench.step(1, reload=("SIGHUP",))
    bench.step(60)
    assert "mig.strategy" not in bench.labels()
    assert bench.logged("error") == ["The new configuration is not used; the one before stays"]
    assert bench.counted()[f"{FAILURES.name} config"] == 1


def test_a_reload_with_another_file_removes_the_former(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "--use-node-feature-api=false")
    bench.config.write_text(f"flags: {{gfd: {{outputFile: {tmp_path / 'one'}}}}}\n")
    bench.daemon = bench.start()
    bench.step()
    bench.config.write_text(f"flags: {{gfd: {{outputFile: {tmp_path / 'two'}}}}}\n")
    bench.step(reload=("SIGHUP",))
    assert [(tmp_path / name).exists() for name in ("one", "two")] == [False, True]


def test_the_end_removes_the_file(bench: Bench) -> None:
    with bench.daemon.running():
        bench.step()
        assert bench.output.exists()
        assert bench.step(stop=("SIGTERM",)) is None
    assert not bench.output.exists()


def test_an_error_at_the_end_removes_the_file_too(bench: Bench) -> None:
    bench.step()
    with pytest.raises(KeyError), bench.daemon.running():
        raise KeyError
    assert not bench.output.exists()


@pytest.mark.parametrize("flag", ["--sleep-interval=infinite", "--keep-output-file"])
def test_the_file_stays_when_asked(tmp_path: Path, flag: str) -> None:
    bench = Bench(tmp_path, "--publish=file", f"--output-file={tmp_path / 'gfd'}", flag)
    with bench.daemon.running():
        bench.step()
    assert bench.output.exists()


def test_a_file_that_cannot_be_removed_is_only_worth_a_warning(bench: Bench) -> None:
    with bench.daemon.running():
        bench.output.mkdir()
    assert "cannot be removed" in bench.logged("warning")[0]


def test_a_missing_directory_is_waited_for(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "--publish=file", f"--output-file={tmp_path / 'later/gfd'}")
    wait = bench.step()
    assert wait is not None
    assert wait < 5
    assert "does not exist" in bench.logged("warning")[0]
    assert bench.counted()[f"{FAILURES.name} publish"] == 1
    (tmp_path / "later").mkdir()
    bench.step(5)
    assert (tmp_path / "later/gfd").exists()


def test_a_configuration_that_turns_to_one_shot_ends_the_program_and_leaves_the_file(bench: Bench) -> None:
    with bench.daemon.running():
        bench.step()
        bench.config.write_text("flags: {gfd: {oneshot: true}}\n")
        bench.step(reload=("SIGHUP",))
        assert len(bench.events.take(0)) == 1
    assert bench.output.exists()


def test_a_destination_without_its_node_is_an_error_at_start(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="NODE_NAME"):
        Bench(tmp_path, "--publish=nodefeature")


@pytest.fixture
def server() -> Iterator[ApiServer]:
    with ApiServer() as running:
        yield running


def cluster_bench(tmp_path: Path, server: ApiServer, *argv: str) -> Bench:
    kubeconfig = write_kubeconfig(tmp_path / "kubeconfig", server.url)
    return Bench(
        tmp_path, "--node-name=node-a", "--namespace=gpu", f"--kubeconfig={kubeconfig}", "--kube-api-qps=0", *argv
    )


def test_a_refusing_api_server_is_asked_again_and_never_ends_the_program(tmp_path: Path, server: ApiServer) -> None:
    bench = cluster_bench(tmp_path, server)
    server.misbehave(Refuse(503, retry_after=2))
    server.misbehave(Refuse(403), times=2)
    waits = [bench.step(), bench.step(5), bench.step(5), bench.step(5)]
    assert all(wait is not None and wait > 0 for wait in waits)
    feature = server.store.get(Key("nfd.k8s-sigs.io/nodefeatures", "gpu", "nvidia-features-for-node-a"))
    assert feature["spec"]["labels"]["nvidia.com/gpu.count"] == "2"
    assert bench.counted()[LABELS.name] == len(feature["spec"]["labels"])


def test_a_token_that_stays_refused_ends_the_program(tmp_path: Path, server: ApiServer) -> None:
    bench = cluster_bench(tmp_path, server)
    server.misbehave(Refuse(401), times=2)
    bench.step()
    with pytest.raises(UnauthorizedError):
        bench.step(5)


def test_labels_go_to_the_node_while_the_cluster_has_no_node_features(tmp_path: Path, server: ApiServer) -> None:
    server.put_node("node-a")
    server.misbehave(Refuse(404), path="nodefeatures", times=2)
    bench = cluster_bench(tmp_path, server, "--publish-fallback=node")
    bench.step()
    assert server.node("node-a")["metadata"]["labels"]["nvidia.com/gpu.count"] == "2"
    assert "Until then the labels go to Node node-a." in bench.logged("warning")[0]
