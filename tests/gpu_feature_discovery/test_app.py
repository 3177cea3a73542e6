"""The loop, driven step by step: events in, labels in a file out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fakes.gfd_bench import Bench
from gpu_core.errors import Ending, HardwareError
from gpu_feature_discovery.metrics import FAILURES, PASSES


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


def test_what_the_filter_leaves_out_is_told_once(bench: Bench) -> None:
    bench.config.write_text("devices: {exclude: ['*l40s*']}\n")
    bench.step(reload=("SIGHUP",))
    bench.step(60)
    assert "gpu.count" not in bench.labels()
    note = "The filter `devices` leaves out 2 of the 2 GPUs of this node."
    assert bench.logged("info").count(note) == 1
    bench.config.write_text("devices: {exclude: ['*t4*']}\n")
    bench.step(reload=("SIGHUP",))
    bench.step(60)
    assert [line for line in bench.logged("warning") if "No GPU matches what it names (exclude: '*t4*')" in line] != []


def test_a_lost_gpu_costs_its_own_labels_and_is_logged_once(bench: Bench) -> None:
    bench.step()
    bench.happen("fail DeviceGetHandleByIndex 1 GPU_IS_LOST")
    for _ in range(3):
        bench.step(60)
    assert bench.labels()["gpu.count"] == "1"
    assert bench.logged("warning") == ["GPU 1 has no labels: nvmlDeviceGetHandleByIndex failed with GPU_IS_LOST."]
    assert bench.counted()[f"{FAILURES.name} labels"] == 3


def test_names_that_labels_cannot_hold_are_noted_once(bench: Bench) -> None:
    bench.node.write_text(
        "machine: Größe\n"
        "gpus:\n"
        '  - {name: GPU A/B, memory: 46068, compute_capability: "8.9"}\n'
        '  - {name: GPU AB, memory: 46068, compute_capability: "8.9"}\n'
    )
    bench.app = bench.start()
    for _ in range(3):
        bench.step(60)
    assert [line for line in bench.logged("info") if line.startswith("Labels write")] == [
        "Labels write the machine type 'Größe' as 'Gre', since they cannot hold it as it is.",
        "Labels write the GPU model 'GPU A/B' as 'GPU-AB-bb198cdd', since they cannot hold it as it is.",
        "Labels write the GPU model 'GPU AB' as 'GPU-AB-2ea2b334', since they cannot hold it as it is.",
    ]
    assert bench.labels()["model-GPU-AB-2ea2b334.product"] == "GPU-AB-2ea2b334"


def test_a_fabric_in_the_making_is_told_once_and_again_when_that_changes(bench: Bench) -> None:
    pending = "The NVLink fabric has not taken in GPU 0 yet, so gpu.clique is left out until it has."
    refused = (
        "The NVLink fabric has not taken in GPU 0, with NVML error 999, so gpu.clique is left out. See the fabric in "
        "`nvidia-smi -q`, and the fabric manager."
    )
    cliques = []
    for state, status in ((2, 0), (3, 999), (3, 0), (2, 0)):
        fabric = f"{{state: {state}, status: {status}, clique: 7, cluster: 7b968a6d-c8aa-45e1-9e07-e1e51be99c31}}"
        bench.node.write_text(
            f'gpus: [{{name: GB200, memory: 189000, compute_capability: "10.0", fabric: {fabric}}}]\n'
        )
        bench.step(1, reload=("SIGHUP",))
        for _ in range(2):
            bench.step(60)
        cliques.append(bench.labels().get("gpu.clique"))
    assert cliques == [None, None, "7b968a6d-c8aa-45e1-9e07-e1e51be99c31.7", None]
    assert bench.logged("warning") == [pending, refused, pending]


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
    bench.app = bench.start()
    bench.step()
    bench.config.write_text(f"flags: {{gfd: {{outputFile: {tmp_path / 'two'}}}}}\n")
    bench.step(reload=("SIGHUP",))
    assert [(tmp_path / name).exists() for name in ("one", "two")] == [False, True]


def test_the_end_removes_the_file(bench: Bench) -> None:
    with bench.app.running():
        bench.step()
        assert bench.output.exists()
        assert bench.step(stop=("SIGTERM",)) is None
    assert not bench.output.exists()


def test_an_error_at_the_end_removes_the_file_too(bench: Bench) -> None:
    bench.step()
    with pytest.raises(KeyError), bench.app.running():
        raise KeyError
    assert not bench.output.exists()


@pytest.mark.parametrize("flag", ["--sleep-interval=infinite", "--keep-output-file"])
def test_the_file_stays_when_asked(tmp_path: Path, flag: str) -> None:
    bench = Bench(tmp_path, "--publish=file", f"--output-file={tmp_path / 'gfd'}", flag)
    with bench.app.running():
        bench.step()
    assert bench.output.exists()


def test_a_file_that_cannot_be_removed_is_only_worth_a_warning(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    bench = Bench(tmp_path, "--publish=file", f"--output-file={tmp_path / 'file/gfd'}")
    with bench.app.running():
        pass
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
    with bench.app.running():
        bench.step()
        bench.config.write_text("flags: {gfd: {oneshot: true}}\n")
        bench.step(reload=("SIGHUP",))
        assert len(bench.events.take(0)) == 1
    assert bench.output.exists()


def test_a_key_that_nobody_knows_is_told_and_changes_nothing(bench: Bench) -> None:
    bench.config.write_text("flgs: {}\n")
    bench.step(reload=("SIGHUP",))
    assert [line for line in bench.logged("warning") if "flgs" in line] != []
    assert bench.labels()["gpu.count"] == "2"


def test_what_is_left_elsewhere_is_no_reason_to_stop_labelling(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: object) -> bool:
        raise RuntimeError("A fault of our own.")

    monkeypatch.setattr("gpu_feature_discovery.outputs.leftovers.Leftovers.tend", fail)
    assert bench.step() == 5.0
    assert bench.logged("error") == ["Labels in other destinations could not be looked for"]
    assert bench.labels()["gpu.count"] == "2"


def test_an_end_while_other_destinations_are_looked_at_ends_the_program(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def end(_: object) -> bool:
        raise Ending

    monkeypatch.setattr("gpu_feature_discovery.outputs.leftovers.Leftovers.tend", end)
    with pytest.raises(Ending):
        bench.step()
