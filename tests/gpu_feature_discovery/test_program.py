"""The program as a process: what a person, a pod and a signal see."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from fakes.api_faults import Silence
from fakes.api_server import ApiServer
from fakes.kubeconfig import write_kubeconfig
from fakes.patience import PATIENCE

GFD = str(Path(sys.executable).parent / "gfd")


def gfd(*argv: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([GFD, *argv], env=environ, capture_output=True, text=True, timeout=PATIENCE, check=False)


def test_a_person_gets_the_labels_sorted_and_nothing_else() -> None:
    done = gfd("--oneshot", "--simulated-node=a100x8")
    keys = [line.split("=")[0] for line in done.stdout.splitlines()]
    assert (done.returncode, done.stderr) == (0, "")
    assert keys == sorted(keys)
    assert "nvidia.com/gpu.count=8" in done.stdout.splitlines()


def test_the_formats_say_the_same() -> None:
    written = {
        form: gfd("--oneshot", "--no-timestamp", "--simulated-node=t4", f"--format={form}").stdout
        for form in ("labels", "json", "yaml", "table")
    }
    labels = dict(line.split("=", 1) for line in written["labels"].splitlines())
    assert json.loads(written["json"]) == labels
    assert yaml.safe_load(written["yaml"]) == labels
    assert len(written["table"].splitlines()) == len(labels) + 1


def test_an_operator_gets_structured_lines_beside_the_labels() -> None:
    done = gfd("--oneshot", "--use-node-feature-api=false", "--output-file=", "--simulated-node=mixed-models")
    lines = [json.loads(line) for line in done.stderr.splitlines()]
    assert lines[0]["event"] == "Running with config"
    assert lines[1]["event"].startswith("This node has GPUs of several models")
    assert done.returncode == 0


def test_a_person_is_told_in_plain_lines_what_is_odd() -> None:
    done = gfd("--oneshot", "--simulated-node=mixed-models")
    assert done.stderr.startswith("gfd: This node has GPUs of several models (")
    assert done.returncode == 0


def test_a_node_whose_gpu_is_lost_gives_one_message_and_no_labels(tmp_path: Path) -> None:
    events = tmp_path / "events"
    events.write_text("fail DeviceGetHandleByIndex 0 GPU_IS_LOST\n")
    done = gfd("--oneshot", "--simulated-node=t4", f"--simulated-events={events}")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "gpu-feature-discovery: GPU 0 has no labels: nvmlDeviceGetHandleByIndex failed with GPU_IS_LOST.\n"
    )


def test_a_pod_without_its_node_name_is_told_which_variable_is_missing() -> None:
    done = gfd("--oneshot", "--simulated-node=t4", KUBERNETES_SERVICE_HOST="10.0.0.1")
    assert done.returncode == 1
    assert "--node-name (NODE_NAME)" in done.stderr


def test_the_topology_is_drawn() -> None:
    done = gfd("topology", "--simulated-node=v100x8-dgx1")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[1].split()[:5] == ["GPU0", "X", "NV1", "NV1", "NV2"]
    assert "NUMA node 1: GPU4, GPU5, GPU6, GPU7" in done.stdout


class Running:
    """A gfd that keeps a file right."""

    def __init__(self, process: subprocess.Popen[str], output: Path) -> None:
        self.process = process
        self.output = output

    def wait_for(self, condition: Callable[[], object]) -> None:
        deadline = time.monotonic() + 30
        while not condition():
            assert self.process.poll() is None, "the program has ended"
            assert time.monotonic() < deadline
            time.sleep(0.02)

    def text(self) -> str:
        return self.output.read_text() if self.output.exists() else ""


@contextmanager
def running(tmp_path: Path, *argv: str) -> Iterator[Running]:
    output = tmp_path / "gfd"
    command = [GFD, "--publish=file", f"--output-file={output}", *argv]
    with subprocess.Popen(command, env={}, stderr=subprocess.PIPE, text=True) as process:
        started = Running(process, output)
        try:
            started.wait_for(started.text)
            yield started
        finally:
            process.kill()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGQUIT])
def test_a_signal_ends_the_program_in_good_order(tmp_path: Path, number: signal.Signals) -> None:
    with running(tmp_path, "--simulated-node=t4") as program:
        assert program.output.stat().st_mode & 0o777 == 0o644
        program.process.send_signal(number)
        assert program.process.wait(PATIENCE) == 0
        assert list(tmp_path.iterdir()) == []


def test_a_changed_config_file_is_noticed_without_a_signal(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("flags: {migStrategy: none}\n")
    with running(tmp_path, "--simulated-node=t4", f"--config-file={config}") as program:
        fresh = tmp_path / "fresh"
        fresh.write_text("flags: {migStrategy: single}\n")
        fresh.replace(config)
        program.wait_for(lambda: "mig.strategy=single" in program.text())


def test_sighup_loads_the_configuration_again(tmp_path: Path) -> None:
    with running(tmp_path, "--simulated-node=t4") as program:
        before = program.output.stat().st_mtime_ns
        program.wait_for(lambda: time.time_ns() - before > 1_100_000_000)
        program.process.send_signal(signal.SIGHUP)
        program.wait_for(lambda: program.output.stat().st_mtime_ns != before)


def test_sigterm_ends_the_program_while_the_api_server_is_silent(tmp_path: Path) -> None:
    """Two requests would take a minute to be given up; the promise is 5 s, the rest is for a loaded machine."""
    with ApiServer() as server:
        server.misbehave(Silence(), times=1000)
        kubeconfig = write_kubeconfig(tmp_path / "kubeconfig", server.url)
        command = [GFD, "--simulated-node=t4", "--node-name=node-a", "--pod-name=gfd-1", f"--kubeconfig={kubeconfig}"]
        with subprocess.Popen(command, env={}, stderr=subprocess.PIPE, text=True) as process:
            try:
                server.wait_for(lambda: server.requests, timeout=60)
                process.send_signal(signal.SIGTERM)
                assert process.wait(20) == 0
                assert len(server.requests) == 1
            finally:
                process.kill()


def test_the_topology_is_json_where_that_is_asked_for() -> None:
    done = gfd("topology", "--format=json", "--simulated-node=a100x4-pcie", GFD_FORMAT="yaml")
    found = json.loads(done.stdout)
    assert (done.returncode, done.stderr) == (0, "")
    assert [gpu["pciAddress"] for gpu in found["gpus"]] == [f"0000:{bus}:00.0" for bus in ("07", "0f", "17", "1f")]
    assert found["links"][0] == ["X", "PHB", "NV12", "SYS"]


def test_a_person_who_names_a_file_gets_the_labels_there_and_no_word(tmp_path: Path) -> None:
    file = tmp_path / "labels"
    printed = gfd("--oneshot", "--no-timestamp", "--simulated-node=t4").stdout
    done = gfd("--oneshot", "--no-timestamp", "--simulated-node=t4", "-o", str(file))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert file.read_text("utf-8") == printed


@pytest.mark.parametrize(
    ("redirection", "code", "message"),
    [
        pytest.param(
            ">/dev/full", 1, "The answer cannot be written to standard output: No space left on device.", id="full"
        ),
        pytest.param(
            ">&-",
            1,
            "Standard output is closed, so the answer cannot be written; open it, or redirect it.",
            id="closed",
        ),
        pytest.param("| :", 0, "", id="left by its reader"),
    ],
)
@pytest.mark.parametrize("question", ["--oneshot", "topology", "topology --format=json"])
def test_an_output_that_takes_nothing_is_told_in_one_line(
    question: str, redirection: str, code: int, message: str
) -> None:
    # The reader has left before the answer comes, which takes much longer.
    line = f'{{ "$0" {question} --simulated-node=t4; echo "$?" >&3; }} {redirection}'
    command = ["/bin/sh", "-c", f"exec 3>&1; {line}", GFD]
    done = subprocess.run(command, env={}, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.stderr == (f"gpu-feature-discovery: {message}\n" if message else "")
    assert done.stdout == f"{code}\n"
