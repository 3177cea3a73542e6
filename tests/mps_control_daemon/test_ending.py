"""How everything ends: all daemons at once, before a deadline, and whatever hangs meanwhile."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from fakes.mps_bench import HANGING, HASTY, IDLE, PLAN, RELOAD, Bench, eventually, kill, program, two_resources
from fakes.mps_tools import MpsTools, is_running
from fakes.patience import PATIENCE
from gpu_core.mps.marks import read
from gpu_core.runtime.supervise import Actions
from mps_control_daemon.machine import Grace

GPU = "nvidia.com/gpu"


@pytest.fixture
def bench(tmp_path: Path, tools: MpsTools) -> Bench:
    return Bench(tmp_path, tools)


def in_a_thread(job: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=job, daemon=True)
    thread.start()
    return thread


def test_every_daemon_is_told_to_quit_before_any_is_waited_for(bench: Bench, tools: MpsTools) -> None:
    bench.configure(two_resources())
    app = bench.start()
    app.act(IDLE)
    tools.control("deaf")
    end = in_a_thread(app.stop)
    eventually(lambda: tools.lines().count("quit") == 2)
    assert [is_running(pid) for pid in tools.pids] == [True, True]
    # It waits for both: nothing is given back before they have gone.
    assert set(tools.compute_modes.values()) == {"EXCLUSIVE_PROCESS"}
    for pid in tools.pids:
        kill(pid)
    end.join()
    assert set(tools.compute_modes.values()) == {"DEFAULT"}


def test_the_readiness_file_goes_before_the_daemons(bench: Bench, tools: MpsTools) -> None:
    app = bench.start()
    app.act(IDLE)
    tools.control("deaf")
    end = in_a_thread(app.stop)
    eventually(lambda: bench.ready is None)
    assert is_running(tools.pids[0])
    kill(tools.pids[0])
    end.join()


def test_daemons_that_do_not_quit_are_killed_together(bench: Bench, tools: MpsTools) -> None:
    tools.control("hanging")
    bench.configure(two_resources())
    bench.hangs, bench.grace = lambda command: command.input is not None, HASTY
    app = bench.start()
    app.act(IDLE)
    app.stop()
    assert tools.have_ended()


def test_a_daemon_that_not_even_sigkill_ends_is_named_and_left(bench: Bench, tools: MpsTools, tmp_path: Path) -> None:
    """What hangs in the kernel, as in a driver, ends when that lets go of it; until then /proc shows it asleep."""
    bench.proc = tmp_path / "proc"
    bench.proc.mkdir()
    bench.grace = replace(HASTY, give_up=3 * HANGING)
    app = bench.start()
    app.act(IDLE)
    (pid,) = tools.pids
    process = bench.proc / str(pid)
    process.mkdir()
    for name in ("cmdline", "environ"):
        (process / name).write_bytes(Path(f"/proc/{pid}/{name}").read_bytes())
    (process / "stat").write_text(f"{pid} (nvidia-cuda-mps) D 1\n")
    tools.control("deaf")
    app.stop()
    (error,) = bench.logged(level="error")
    assert (error["event"], error["reason"]) == (
        "The MPS control daemon was not stopped",
        f"MPS processes of {GPU} do not end: {pid}. Look at them on the node.",
    )
    assert (bench.ready, set(tools.compute_modes.values())) == (None, {"DEFAULT"})


def test_a_gpu_that_hangs_keeps_no_other_from_its_compute_mode(bench: Bench, tools: MpsTools) -> None:
    app = bench.start()
    app.act(IDLE)
    tools.smi("hanging on GPU-0")
    bench.hangs = lambda command: "GPU-0" in command.argv
    app.stop()
    assert tools.compute_modes == {"GPU-0": "EXCLUSIVE_PROCESS", "GPU-1": "DEFAULT"}
    (warning,) = bench.logged(level="warning")
    assert warning["event"].startswith("The compute mode of GPU-0 was not restored to DEFAULT: nvidia-smi did not end")
    # The next start gives it back.
    tools.smi("healthy")
    bench.hangs = lambda _: False
    bench.configure("version: v1\n")
    bench.start().act(IDLE)
    assert tools.compute_modes == {"GPU-0": "DEFAULT", "GPU-1": "DEFAULT"}


def control_hangs(tools: MpsTools, line: str) -> bool:
    return any(entry.get("line", "").startswith(line) for entry in tools.journal)


@pytest.mark.parametrize(
    ("breaks", "hangs"),
    [
        pytest.param(lambda tools: tools.smi("hanging"), lambda tools: bool(tools.hanging), id="nvidia-smi"),
        pytest.param(
            lambda tools: tools.control("stuck"), lambda tools: bool(tools.starts), id="the start of a daemon"
        ),
        pytest.param(
            lambda tools: tools.control("hanging"),
            lambda tools: control_hangs(tools, "set_"),
            id="a daemon that takes no limit",
        ),
    ],
)
def test_the_end_does_not_wait_for_a_start_that_hangs(
    bench: Bench, tools: MpsTools, breaks: Callable[[MpsTools], None], hangs: Callable[[MpsTools], bool]
) -> None:
    breaks(tools)
    bench.grace = HASTY
    app = bench.start()
    start = in_a_thread(lambda: app.act(IDLE))
    eventually(lambda: hangs(tools))
    bench.tell_to_end()
    # Every command has longer than this test may take.
    start.join()
    bench.hangs = lambda _: True
    app.stop()
    # There is none yet where something before the start hangs.
    assert not any(map(is_running, tools.pids))
    # It was no failure that anything would have to be done about.
    assert bench.logged(level="error") == []


def in_the_driver() -> int:
    return sum(thread.name == "driver" for thread in threading.enumerate())


@pytest.mark.parametrize("call", ["Init *", "DeviceGetCount *", "DeviceGetMemoryInfo 1"])
def test_the_end_does_not_wait_for_a_driver_that_hangs(bench: Bench, tools: MpsTools, call: str) -> None:
    bench.happens(f"hang {call} inf")
    app = bench.start()
    before = in_the_driver()
    start = in_a_thread(lambda: app.act(IDLE))
    eventually(lambda: in_the_driver() > before)
    bench.tell_to_end()
    start.join()
    app.stop()
    assert tools.starts == []


def test_the_end_does_not_wait_for_a_daemon_that_is_being_replaced(bench: Bench, tools: MpsTools) -> None:
    bench.configure(two_resources())
    app = bench.start()
    app.act(IDLE)
    tools.control("deaf")
    bench.configure(two_resources(l40s=8))
    change = in_a_thread(lambda: app.act(RELOAD))
    eventually(lambda: "quit" in tools.lines("nvidia.com/l40s"))
    assert "quit" not in tools.lines("nvidia.com/a10")
    bench.tell_to_end()
    change.join()
    assert len(tools.starts) == 2
    tools.control("healthy")
    app.stop()
    assert tools.have_ended()
    assert set(tools.compute_modes.values()) == {"DEFAULT"}


def test_a_second_signal_does_not_interrupt_the_end(bench: Bench, tools: MpsTools) -> None:
    app = bench.start()
    app.act(IDLE)
    bench.tell_to_end()
    assert app.act(IDLE) == 1.0
    app.act(Actions(stop=("SIGTERM",)))
    tools.control("deaf")
    end = in_a_thread(app.stop)
    eventually(lambda: tools.lines()[-1] == "quit")
    bench.tell_to_end()
    assert is_running(tools.pids[0])
    kill(tools.pids[0])
    end.join()
    assert tools.compute_modes == {"GPU-0": "DEFAULT", "GPU-1": "DEFAULT"}


def test_the_end_fits_into_the_time_that_a_kubelet_gives() -> None:
    grace = Grace()
    assert 0 < grace.quit < grace.terminate < grace.give_up
    assert grace.give_up + grace.restore <= 20


def test_a_program_that_is_told_to_end_while_everything_hangs_ends(bench: Bench, tools: MpsTools) -> None:
    with program(bench) as process:
        eventually(lambda: bench.ready is not None)
        tools.control("hanging")
        tools.smi("hanging")
        process.send_signal(signal.SIGTERM)
        # Promised are 20 s, on a machine that has nothing else to do.
        assert process.wait(PATIENCE) == 0
    assert tools.have_ended()
    assert bench.ready is None
    assert sorted(tools.hanging) == ["GPU-0", "GPU-1"]


def pipe_instead_of(file: str) -> None:
    Path(file).parent.mkdir(parents=True, exist_ok=True)
    Path(file).unlink(missing_ok=True)
    os.mkfifo(file)


def test_pipes_in_the_place_of_files_are_not_waited_for(bench: Bench, tools: MpsTools) -> None:
    pipe_instead_of(bench.root.compute_modes)
    pipe_instead_of(bench.root.started(GPU))
    app = bench.start()
    app.act(IDLE)
    assert bench.ready is not None
    log = f"{bench.root.log(GPU)}/control.log"
    pipe_instead_of(log)
    pipe_instead_of(f"{bench.root.pipe(GPU)}/nvidia-cuda-mps-control.pid")
    app.act(IDLE)
    # The daemon itself would wait for a reader.
    Path(log).unlink()
    app.stop()
    assert tools.have_ended()


def test_a_mark_without_end_is_not_read_to_it(bench: Bench, tools: MpsTools) -> None:
    bench.start().act(IDLE)
    mark = Path(bench.root.started(GPU))
    with mark.open("r+b") as stream:
        stream.truncate(1 << 40)
    app = bench.start()
    app.act(IDLE)
    # What it says is too much to be a mark, so there is another daemon.
    assert [is_running(pid) for pid in tools.pids] == [False, True]
    assert read(mark.read_text()) == PLAN
