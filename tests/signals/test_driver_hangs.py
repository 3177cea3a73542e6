"""A driver that hangs: SIGTERM ends a program all the same, and what can be done is done."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path

import pytest

from fakes.four_programs import BIN, PATIENCE, Bench, bench

READERS = ("nvidia-device-plugin", "gpu-feature-discovery", "mps-control-daemon")


def hanging(node: Bench, events: Path, line: str) -> Bench:
    events.write_text(f"{line}\n", "utf-8")
    node.command = (*node.command, f"--simulated-events={events}")
    return node


@pytest.mark.parametrize("program", READERS)
@pytest.mark.parametrize(
    "line",
    [
        pytest.param("hang Init * inf", id="it does not start"),
        pytest.param("hang DeviceGetCount * inf", id="it does not count its GPUs"),
        pytest.param("hang DeviceGetName 0 inf", id="a GPU does not tell its name"),
        pytest.param("hang Shutdown * inf", id="it does not end"),
    ],
)
def test_sigterm_ends_a_program_that_waits_for_its_driver(program: str, line: str, socket_dir: Path) -> None:
    with bench(program, socket_dir) as node:
        process = hanging(node, socket_dir / "events", line).start()
        # Until it is in the driver, or has got past it; nothing is logged by one that waits for its driver to start.
        end = time.monotonic() + 2.0
        while not (node.log.exists() and node.log.read_text("utf-8")) and time.monotonic() < end:
            time.sleep(0.01)
        time.sleep(0.3)
        process.terminate()
        # One that found no driver in time may have ended before, by itself.
        assert process.wait(PATIENCE) in ((0, 1) if "Count" in line else (0,))
        log = node.log.read_text("utf-8")
        assert "Traceback" not in log
        assert "takes longer" not in log
        assert node.left() == []


def test_gfd_labels_the_other_gpus_and_says_which_one_is_missing(tmp_path: Path) -> None:
    events = tmp_path / "events"
    events.write_text("hang DeviceGetName 1 inf\n", "utf-8")
    command = [str(BIN / "gfd"), "--oneshot", "--simulated-node=a100x4-pcie", f"--simulated-events={events}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env={})
    labels = dict(line.split("=", 1) for line in done.stdout.splitlines())
    assert (done.returncode, labels["nvidia.com/gpu.count"]) == (0, "3")
    assert labels["nvidia.com/gpu.product"] == "NVIDIA-A100-PCIE-40GB"
    assert done.stderr == "gfd: GPU 1 has no labels: nvmlDeviceGetName did not return in time.\n"


def test_gfd_has_no_labels_where_no_gpu_answers(tmp_path: Path) -> None:
    events = tmp_path / "events"
    events.write_text("hang DeviceGetName * inf count=4\n", "utf-8")
    command = [str(BIN / "gfd"), "--oneshot", "--simulated-node=a100x4-pcie", f"--simulated-events={events}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env={})
    assert (done.returncode, done.stdout, done.stderr.count("did not return in time")) == (1, "", 4)


def test_the_mps_daemon_shares_the_other_gpus(socket_dir: Path) -> None:
    with bench("mps-control-daemon", socket_dir) as node:
        node.command = tuple(part.replace("=t4", "=a100x4-pcie") for part in node.command)
        process = hanging(node, socket_dir / "events", "hang DeviceGetName 1 inf").started()
        process.terminate()
        assert process.wait(60) == 0
        lines = [json.loads(line) for line in node.log.read_text("utf-8").splitlines() if line.startswith("{")]
        assert any("GPU 1 is left out: nvmlDeviceGetName did not return in time" in line["event"] for line in lines)
