"""A node's daemons from start to stop, with a control program that behaves in every way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import gpu_core.devices
from fakes.mps_bench import IDLE, LIMITS, PLAN, Bench, sharing
from fakes.mps_tools import MpsTools
from gpu_core.errors import MpsError, SuiteError
from gpu_core.mps import digest
from gpu_core.mps.marks import read
from gpu_core.runtime.supervise import Actions
from mps_control_daemon.metrics import READ_FAILURES, UP

NODES = Path(gpu_core.devices.__file__).parent / "nodes"


@pytest.fixture
def bench(tmp_path: Path, tools: MpsTools) -> Bench:
    return Bench(tmp_path, tools)


def test_a_start_sets_modes_and_limits_and_says_ready(bench: Bench, tools: MpsTools) -> None:
    bench.start().act(IDLE)
    pipe, log = f"{bench.directory}/nvidia.com/gpu/pipe", f"{bench.directory}/nvidia.com/gpu/log"
    assert tools.starts == [
        {"CUDA_MPS_LOG_DIRECTORY": log, "CUDA_MPS_PIPE_DIRECTORY": pipe, "CUDA_VISIBLE_DEVICES": "GPU-0,GPU-1"}
    ]
    assert tools.lines() == LIMITS
    assert tools.compute_modes == {"GPU-0": "EXCLUSIVE_PROCESS", "GPU-1": "EXCLUSIVE_PROCESS"}
    assert bench.ready == digest([PLAN])
    assert read(Path(bench.root.started("nvidia.com/gpu")).read_text()) == PLAN
    assert [oct(Path(path).stat().st_mode & 0o777) for path in (pipe, log)] == ["0o755", "0o755"]
    assert bench.count(UP) == 1.0


def test_what_the_daemon_puts_into_its_directory_is_labelled_too(
    bench: Bench, tools: MpsTools, monkeypatch: pytest.MonkeyPatch
) -> None:
    labelled: list[set[str]] = []

    def label(directory: Path, _sys: Path) -> None:
        labelled.append({path.name for path in directory.iterdir()})

    # Few machines that run tests have SELinux.
    monkeypatch.setattr("mps_control_daemon.daemon.relabel", label)
    bench.start().act(IDLE)
    assert labelled == [set(), {"control", "nvidia-cuda-mps-control.pid"}]


def test_the_running_config_is_logged_before_anything_is_started(bench: Bench, tools: MpsTools) -> None:
    tools.remove("nvidia-cuda-mps-control")
    bench.start("--mig-strategy=single").act(IDLE)
    first = bench.logged()[0]
    assert (first["event"], first["config"]["flags"]["migStrategy"]) == ("Running with config", "single")
    assert first["config"]["resources"]["mig"] == [{"pattern": "*", "name": "nvidia.com/gpu"}]
    assert first["config"]["sharing"]["mps"]["resources"][0]["replicas"] == 4


def test_a_stop_leaves_nothing_behind_but_the_directories(bench: Bench, tools: MpsTools) -> None:
    tools.compute_modes = {"GPU-0": "PROHIBITED"}
    app = bench.start()
    app.act(IDLE)
    app.act(Actions(stop=("SIGTERM",)))
    app.stop()
    assert tools.lines()[-1] == "quit"
    assert tools.have_ended()
    assert tools.compute_modes == {"GPU-0": "PROHIBITED", "GPU-1": "DEFAULT"}
    assert [path for path in bench.directory.rglob("*") if not path.is_dir()] == []
    assert bench.count(UP) == 0.0


def test_what_daemons_log_is_passed_on_to_the_end(bench: Bench, tools: MpsTools) -> None:
    app = bench.start()
    app.act(IDLE)
    app.act(IDLE)
    pid = tools.pids[0]
    started = f"[{pid}] Starting control daemon using socket {bench.directory}/nvidia.com/gpu/pipe/control\n"
    assert bench.output == started
    app.stop()
    assert bench.output == f"{started}[{pid}] Exit\n"


@pytest.mark.parametrize("config", ["version: v1\n", sharing(replicas=1)], ids=["no sharing", "one replica"])
def test_without_anything_to_share_it_is_ready_and_waits(bench: Bench, tools: MpsTools, config: Any) -> None:
    bench.configure(config)
    assert bench.start().act(IDLE) is None
    assert (bench.ready, tools.starts) == (digest([]), [])
    assert "Nothing is shared through MPS; waiting for another config" in [line["event"] for line in bench.logged()]


def test_without_anything_to_share_the_driver_may_be_missing(bench: Bench) -> None:
    bench.configure("version: v1\n")
    bench.happens("fail Init * DRIVER_NOT_LOADED")
    assert bench.start().act(IDLE) is None
    assert bench.ready == digest([])


def test_a_node_without_gpus_is_ready_and_looked_at_again(bench: Bench, tools: MpsTools) -> None:
    bench.node.write_text("gpus: []\n")
    assert bench.start().act(IDLE) == 60.0
    assert (bench.ready, tools.starts) == (digest([]), [])


def test_a_missing_directory_ends_the_program(bench: Bench) -> None:
    bench.directory.rmdir()
    with pytest.raises(MpsError, match=r"mps is no directory\. Mount the host's MPS directory there"):
        bench.start()


@pytest.mark.parametrize(
    ("config", "node", "says"),
    [
        pytest.param(sharing(49), None, "49 replicas of GPU 0 .* takes 48 MPS clients", id="too many replicas"),
        pytest.param(
            sharing(),
            "gpus: [{model: A100-SXM4-40GB, mig: {enabled: true, devices: [1g.5gb x2]}}]\n",
            "holds the MIG devices MIG-.*, MIG-",
            id="MIG devices",
        ),
        pytest.param(
            sharing(), NODES.joinpath("jetson.yaml").read_text(), "GPUs have no UUIDs", id="a platform without UUIDs"
        ),
    ],
)
def test_a_first_config_that_cannot_be_served_ends_the_program(
    bench: Bench, tools: MpsTools, config: dict[str, Any], node: str | None, says: str
) -> None:
    bench.configure(config)
    if node is not None:
        bench.node.write_text(node)
    app = bench.start("--mig-strategy=single")
    with pytest.raises(SuiteError, match=says):
        app.act(IDLE)
    assert (bench.ready, tools.starts, tools.compute_modes) == (None, [], {})


def test_a_late_driver_is_waited_for_with_growing_pauses(bench: Bench, tools: MpsTools) -> None:
    bench.happens("fail Init * DRIVER_NOT_LOADED")
    app = bench.start()
    pauses = []
    for _ in range(8):
        pause = app.act(IDLE)
        pauses.append(pause)
        bench.after(pause or 0.0)
    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60]
    assert [line["event"].partition(",")[0] for line in bench.logged(level="warning")] == ["Waiting for the GPUs"]
    assert not bench.ready
    assert bench.count(READ_FAILURES) == 8
    bench.happens("heal Init *")
    app.act(IDLE)
    assert (bench.ready, len(tools.starts)) == (digest([PLAN]), 1)


def test_a_start_removes_what_a_killed_one_left_half_made(bench: Bench) -> None:
    resource = bench.directory / "nvidia.com" / "gpu"
    resource.mkdir(parents=True)
    for directory in (bench.directory, resource):
        (directory / ".k8s-gpu-suite-0123abcd.lock").touch()
        (directory / ".gpu-0123abcd").touch()
    (bench.directory / ".another's").touch()
    bench.start().act(IDLE)
    assert sorted(path.name for path in bench.directory.iterdir() if path.name.startswith(".")) == [
        ".another's",
        ".compute-modes.json",
        ".ready",
    ]
    assert sorted(path.name for path in resource.iterdir()) == [".started", "log", "pipe"]
