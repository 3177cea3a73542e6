"""Control programs, and other tools, that do not do what they should."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from fakes.mps_bench import HASTY, IDLE, RELOAD, Bench, sharing, two_resources
from fakes.mps_tools import MpsTools, is_running
from gpu_core.errors import SuiteError
from gpu_core.mps import CONTROL
from mps_control_daemon.commands import Command
from mps_control_daemon.metrics import DEATHS, START_FAILURES, UP


@pytest.fixture
def bench(tmp_path: Path, tools: MpsTools) -> Bench:
    return Bench(tmp_path, tools)


def control(mode: str) -> Callable[[MpsTools], None]:
    return lambda tools: tools.control(mode)


def without(name: str) -> Callable[[MpsTools], None]:
    return lambda tools: tools.remove(name)


def not_executable(name: str) -> Callable[[MpsTools], None]:
    return lambda tools: (tools.directory / name).chmod(0o644)


def repair(tools: MpsTools) -> None:
    fresh = MpsTools(tools.directory.parent / "fresh")
    for file in fresh.directory.iterdir():
        if file.name not in {"control-journal", "compute-modes"}:
            file.rename(tools.directory / file.name)


@pytest.mark.parametrize(
    ("breaks", "says"),
    [
        pytest.param(
            without("nvidia-cuda-mps-control"),
            "nvidia-cuda-mps-control was not found on PATH. Check that the image or the driver brings it.",
            id="the control program is missing",
        ),
        pytest.param(
            not_executable("nvidia-cuda-mps-control"),
            "nvidia-cuda-mps-control cannot be run: {directory}/nvidia-cuda-mps-control is not executable.",
            id="the control program may not be run",
        ),
        pytest.param(
            control("not-starting"),
            "The MPS control daemon of nvidia.com/gpu could not be started: Failed to start: no device is available.",
            id="the daemon does not start",
        ),
        pytest.param(
            control("saying-so"),
            "The MPS control daemon of nvidia.com/gpu could not be started: Failed to start: no device is available.",
            id="the daemon does not start and ends with 0",
        ),
        pytest.param(
            control("refusing"),
            "The MPS control daemon of nvidia.com/gpu refused `set_default_device_pinned_mem_limit 0 10000M`: Error: "
            "the limit is invalid.",
            id="the daemon refuses a limit and ends with 0",
        ),
        pytest.param(
            control("wrong"),
            "The MPS control daemon of nvidia.com/gpu was started, but it gave an answer that makes no sense: 'no such "
            "thing'.",
            id="the daemon talks nonsense",
        ),
        pytest.param(
            control("dying"),
            "The MPS control daemon of nvidia.com/gpu refused `set_default_device_pinned_mem_limit 0 10000M`: Cannot "
            "find MPS control daemon process.",
            id="the daemon ends at once",
        ),
        pytest.param(
            without("nvidia-smi"),
            "nvidia-smi was not found on PATH. Check that the image or the driver brings it.",
            id="nvidia-smi is missing",
        ),
        pytest.param(
            lambda tools: tools.smi("failing"),
            "nvidia-smi could not set the compute mode of GPU-0 to EXCLUSIVE_PROCESS: Unable to determine the device "
            "handle for GPU: GPU is lost.",
            id="nvidia-smi fails",
        ),
    ],
)
def test_a_failed_start_leaves_nothing_running_and_is_tried_again_after_30_seconds(
    bench: Bench, tools: MpsTools, breaks: Callable[[MpsTools], None], says: str
) -> None:
    breaks(tools)
    app = bench.start()
    app.act(IDLE)
    (error,) = bench.logged(level="error")
    assert (error["event"], error["reason"]) == (
        "The MPS control daemon cannot be started; retrying in 30 s",
        says.format(directory=tools.directory),
    )
    assert (bench.ready, bench.count(START_FAILURES), bench.count(UP)) == (None, 1.0, 0.0)
    assert not any(map(is_running, tools.pids))
    assert not Path(bench.root.started("nvidia.com/gpu")).exists()
    assert set(tools.compute_modes.values()) <= {"DEFAULT"}
    repair(tools)
    bench.after(29)
    app.act(IDLE)
    assert (bench.ready, bench.count(START_FAILURES)) == (None, 1.0)
    bench.after(1)
    app.act(IDLE)
    assert bench.ready is not None
    assert bench.count(UP) == 1.0


@pytest.mark.parametrize(
    ("mode", "hangs"),
    [
        pytest.param("stuck", lambda command: command.argv[1:] == ("-d",), id="when it is to start a daemon"),
        pytest.param("hanging", lambda command: command.input is not None, id="when it is asked"),
    ],
)
def test_a_control_program_that_hangs_is_given_up(
    bench: Bench, tools: MpsTools, mode: str, hangs: Callable[[Command], bool]
) -> None:
    tools.control(mode)
    bench.hangs, bench.grace = hangs, HASTY
    bench.start().act(IDLE)
    (error,) = bench.logged(level="error")
    assert "nvidia-cuda-mps-control did not end within 0.2 s and was killed" in error["reason"]
    assert not any(map(is_running, tools.pids))


def test_a_slow_daemon_is_waited_for(bench: Bench, tools: MpsTools) -> None:
    tools.control("slow")
    bench.start().act(IDLE)
    assert bench.ready is not None


def test_one_resource_that_does_not_start_leaves_the_other_one_running(bench: Bench, tools: MpsTools) -> None:
    bench.configure(two_resources())
    blocked = Path(bench.root.pipe("nvidia.com/l40s"))
    blocked.parent.mkdir(parents=True)
    blocked.touch()
    app = bench.start()
    app.act(IDLE)
    assert [start["CUDA_VISIBLE_DEVICES"] for start in tools.starts] == ["GPU-1"]
    assert bench.ready is None
    (error,) = bench.logged(level="error")
    assert error["reason"] == f"{blocked} cannot be created: File exists. Mount the MPS root there, writable."
    blocked.unlink()
    bench.after(30)
    app.act(IDLE)
    assert [start["CUDA_VISIBLE_DEVICES"] for start in tools.starts] == ["GPU-1", "GPU-0"]
    assert bench.ready is not None


def test_a_daemon_that_stops_answering_is_given_up_after_three_questions(bench: Bench, tools: MpsTools) -> None:
    app = bench.start()
    app.act(IDLE)
    tools.control("wrong")
    for question in range(1, 4):
        bench.after(10)
        app.act(IDLE)
        assert (bench.ready, bench.count(DEATHS)) == (None, float(question == 3))
    tools.control("healthy")
    bench.after(1)
    app.act(IDLE)
    # It answers again and has kept its limits: there is nothing to be gained from another one.
    assert (len(tools.starts), bench.ready is not None) == (1, True)


def test_a_daemon_that_hangs_is_replaced(bench: Bench, tools: MpsTools) -> None:
    bench.grace = HASTY
    app = bench.start()
    app.act(IDLE)
    os.kill(tools.pids[0], signal.SIGSTOP)
    # What asks the daemon hangs as long as it does; what asks the GPUs does not.
    bench.hangs = lambda command: command.argv[0] == CONTROL and is_running(tools.pids[0])
    for _ in range(3):
        bench.after(10)
        app.act(IDLE)
    assert "nvidia-cuda-mps-control did not end within" in bench.logged(level="error")[0]["reason"]
    bench.after(1)
    app.act(IDLE)
    assert [is_running(pid) for pid in tools.pids] == [False, True]
    assert bench.ready is not None


def test_another_config_is_tried_at_once_after_a_failed_start(bench: Bench, tools: MpsTools) -> None:
    tools.control("refusing")
    app = bench.start()
    app.act(IDLE)
    bench.configure(sharing(2, memoryLimitMiB=0, activeThreadPercentage=0))
    app.act(RELOAD)
    assert bench.ready is not None


def test_a_daemon_that_is_left_behind_and_cannot_be_ended_is_told_of(bench: Bench, tools: MpsTools) -> None:
    bench.start().act(IDLE)
    # As if neither its number nor its answers led anywhere.
    (Path(bench.root.pipe("nvidia.com/gpu")) / "nvidia-cuda-mps-control.pid").write_text("1\n")
    tools.control("deaf")
    bench.grace = HASTY
    bench.configure("version: v1\n")
    bench.start().act(IDLE)
    (error,) = bench.logged(level="error")
    assert (error["event"], error["reason"]) == (
        "The MPS control daemon was not stopped",
        "The MPS control daemon of nvidia.com/gpu does not quit, and which process it is, is unknown.",
    )
    assert is_running(tools.pids[0])


def test_a_directory_that_takes_no_files_is_named(bench: Bench, tools: MpsTools) -> None:
    # Not even root can put a file where a directory is.
    Path(bench.root.ready).mkdir()
    with pytest.raises(SuiteError, match=r"\.ready cannot be changed: Is a directory\."):
        bench.start()


def test_a_daemon_without_a_process_number_is_stopped_all_the_same(bench: Bench, tools: MpsTools) -> None:
    app = bench.start()
    app.act(IDLE)
    # Some other name for the file, as another version of the driver may use.
    pipe = Path(bench.root.pipe("nvidia.com/gpu"))
    (pipe / "nvidia-cuda-mps-control.pid").write_text("1\n")
    app.stop()
    assert tools.lines()[-1] == "quit"
    assert not is_running(tools.pids[0])


def test_a_compute_mode_that_cannot_be_restored_is_restored_the_next_time(bench: Bench, tools: MpsTools) -> None:
    app = bench.start()
    app.act(IDLE)
    tools.smi("failing")
    app.stop()
    warnings = [line["event"].partition(":")[0] for line in bench.logged(level="warning")]
    assert warnings == [f"The compute mode of {uuid} was not restored to DEFAULT" for uuid in ("GPU-0", "GPU-1")]
    tools.smi("healthy")
    bench.configure("version: v1\n")
    bench.start().act(IDLE)
    assert tools.compute_modes == {"GPU-0": "DEFAULT", "GPU-1": "DEFAULT"}
    assert not Path(bench.root.compute_modes).exists()


def test_a_gpu_without_compute_modes_gets_the_default_back(bench: Bench, tools: MpsTools) -> None:
    tools.smi("mute")
    app = bench.start()
    app.act(IDLE)
    app.stop()
    assert tools.compute_modes == {"GPU-0": "DEFAULT", "GPU-1": "DEFAULT"}
    assert "is unknown, so it will become DEFAULT again: [N/A]" in bench.logged(level="warning")[0]["event"]


def test_a_mode_that_was_exclusive_before_stays_so(bench: Bench, tools: MpsTools) -> None:
    tools.compute_modes = {"GPU-0": "EXCLUSIVE_PROCESS"}
    app = bench.start()
    app.act(IDLE)
    app.stop()
    assert tools.compute_modes == {"GPU-0": "EXCLUSIVE_PROCESS", "GPU-1": "DEFAULT"}


@pytest.mark.parametrize(
    "text",
    ["", "[]", '{"GPU-0": "WHATEVER"}', '{"GPU-0": ["DEFAULT"]}', "\udcff"],
    ids=["empty", "a list", "no mode", "a list for a mode", "no text"],
)
def test_remembered_modes_that_cannot_be_understood_say_nothing(bench: Bench, tools: MpsTools, text: str) -> None:
    Path(bench.root.compute_modes).write_bytes(text.encode("utf-8", "surrogateescape"))
    app = bench.start()
    app.act(IDLE)
    app.stop()
    assert tools.compute_modes == {"GPU-0": "DEFAULT", "GPU-1": "DEFAULT"}


def test_marks_that_cannot_be_written_are_told_of(bench: Bench, tools: MpsTools) -> None:
    Path(bench.root.started("nvidia.com/gpu")).mkdir(parents=True)
    app = bench.start()
    app.act(IDLE)
    (error,) = bench.logged(level="error")
    assert error["reason"].startswith(f"{bench.root.started('nvidia.com/gpu')} cannot be removed:")


def test_an_end_without_its_directory_stops_what_it_can(bench: Bench, tools: MpsTools) -> None:
    app = bench.start()
    app.act(IDLE)
    Path(bench.root.ready).unlink()
    Path(bench.root.ready).mkdir()
    app.stop()
    assert not is_running(tools.pids[0])
    assert [line["event"] for line in bench.logged(level="error")] == ["The readiness file is left behind"]
