"""Control daemons are asked before their resources are served, and from then on."""

from __future__ import annotations

import io
import json
import os
import queue
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from core.mps.sharing import plan_of
from fakes.mps_bench import eventually
from fakes.mps_tools import MpsTools
from fakes.patience import PATIENCE
from gpu_core.mps import DaemonPlan, MpsRoot, digest
from gpu_core.mps.marks import written
from gpu_core.mps.watch import MpsWatch
from gpu_core.runtime.logs import configure
from gpu_core.runtime.process import run

PLAN = plan_of("GPU-0", "GPU-1")
GPU = PLAN.resource
DEAD = "its MPS control daemon cannot be used: it does not answer: Cannot find MPS control daemon process"
NEVER = 1e9


class Watched:
    """A watch, and a control daemon as a test wants it."""

    def __init__(self, directory: Path, *, interval: float) -> None:
        self.log = io.StringIO()
        configure(json=True, stream=self.log)
        self.root = MpsRoot(str(directory))
        directory.mkdir()
        self.time = 0.0
        self.meanwhile: Callable[[], object] = lambda: None
        self.told: queue.SimpleQueue[Mapping[str, str]] = queue.SimpleQueue()
        self.stirred: queue.SimpleQueue[None] = queue.SimpleQueue()
        self.watch = MpsWatch(
            self.root,
            self.told.put,
            stirred=lambda: self.stirred.put(None),
            interval=interval,
            clock=self.clock,
        )

    def clock(self) -> float:
        """Tell the time, which is asked for once a daemon has answered, and let happen what happens meanwhile."""
        self.meanwhile()
        return self.time

    def start_daemon(self, plan: DaemonPlan = PLAN) -> None:
        for directory in (self.root.pipe(plan.resource), self.root.log(plan.resource)):
            Path(directory).mkdir(parents=True, exist_ok=True)
        run(["nvidia-cuda-mps-control", "-d"], timeout=PATIENCE, env=plan.start_environment(self.root))

    def stop_daemon(self) -> None:
        run(["nvidia-cuda-mps-control"], timeout=PATIENCE, env=self.root.environment(GPU), text="quit")

    def mark(self, text: str) -> None:
        Path(self.root.started(GPU)).parent.mkdir(parents=True, exist_ok=True)
        Path(self.root.started(GPU)).write_text(text)

    def wait_told(self, expected: Mapping[str, str]) -> None:
        """Wait until this is told, whatever was told before."""
        while self.told.get(timeout=PATIENCE) != expected:
            pass

    def warnings(self) -> list[str]:
        lines = [json.loads(line) for line in self.log.getvalue().splitlines()]
        return [line["event"] for line in lines if line["level"] == "warning"]


MakeWatched = Callable[..., Watched]


@pytest.fixture
def make_watched(tmp_path: Path, tools: MpsTools) -> Iterator[MakeWatched]:
    made: list[Watched] = []

    def make(*, interval: float = NEVER) -> Watched:
        made.append(Watched(tmp_path / "mps", interval=interval))
        return made[-1]

    yield make
    for watched in made:
        watched.watch.stop()


def test_what_is_not_shared_through_mps_waits_for_nobody(make_watched: MakeWatched) -> None:
    watched = make_watched()
    assert watched.watch.ready("nvidia.com/gpu") is None
    watched.watch.follow((PLAN,))
    assert watched.watch.ready("nvidia.com/other") is None


def test_a_resource_waits_for_its_daemon_and_complains_after_a_while(make_watched: MakeWatched) -> None:
    watched = make_watched()
    Path(watched.root.pipe(GPU)).mkdir(parents=True)
    watched.watch.follow((PLAN,))
    reason = "it does not answer: Cannot find MPS control daemon process"
    assert watched.watch.ready(GPU) == f"Waiting for the MPS control daemon: {reason}"
    watched.time = 61
    assert (watched.watch.ready(GPU) or "").startswith(
        f"The MPS control daemon was not ready within 60 s and is still waited for: {reason}"
    )
    watched.start_daemon()
    watched.mark(written(PLAN))
    assert watched.watch.ready(GPU) is None
    assert watched.warnings() == []


def test_the_originals_daemon_is_taken_as_it_is_with_a_warning(make_watched: MakeWatched) -> None:
    watched = make_watched()
    watched.start_daemon()
    watched.mark("")
    Path(watched.root.ready).touch()
    watched.watch.follow((PLAN,))
    assert watched.watch.ready(GPU) is None
    assert watched.warnings() == [
        "The MPS control daemon does not say what it runs with; its limits are taken as they are"
    ]


def test_a_daemon_that_answers_before_it_has_left_its_mark_is_waited_for(make_watched: MakeWatched) -> None:
    watched = make_watched()
    watched.start_daemon()
    watched.watch.follow((PLAN,))
    assert watched.watch.ready(GPU) == "Waiting for the MPS control daemon: it is starting"
    watched.mark(written(PLAN))
    assert watched.watch.ready(GPU) is None
    assert watched.warnings() == []


def test_a_daemon_that_starts_while_it_is_asked_is_not_taken_for_one_without_marks(
    make_watched: MakeWatched, tools: MpsTools
) -> None:
    watched = make_watched()
    watched.watch.follow((plan_of("GPU-0", "GPU-1", replicas=4),))
    # The daemon comes with other shares just before the question is answered.
    script = tools.directory / "nvidia-cuda-mps-control"
    script.write_text(
        "#!/bin/sh\n"
        "cat >/dev/null\n"
        f"/bin/mkdir -p {watched.root.pipe(GPU)}\n"
        f"echo '{written(PLAN).strip()}' >{watched.root.started(GPU)}\n"
        "echo 50.0\n"
    )
    assert watched.watch.ready(GPU) == (
        "Waiting for the MPS control daemon: it divides GPUs into 2 parts, but the config asks for 4"
    )


def test_pipes_in_the_place_of_marks_are_not_waited_for(make_watched: MakeWatched) -> None:
    watched = make_watched()
    watched.start_daemon()
    os.mkfifo(watched.root.started(GPU))
    os.mkfifo(watched.root.ready)
    watched.watch.follow((PLAN,))
    assert watched.watch.ready(GPU) == "Waiting for the MPS control daemon: it is starting"


def test_a_readiness_file_for_something_else_is_waited_out(make_watched: MakeWatched) -> None:
    watched = make_watched()
    watched.start_daemon()
    watched.mark("")
    Path(watched.root.ready).write_text(digest([]))
    watched.watch.follow((PLAN,))
    assert watched.watch.ready(GPU) == (
        "Waiting for the MPS control daemon: it runs with another config or for other GPUs than we have"
    )
    Path(watched.root.ready).write_text(digest([PLAN]))
    assert watched.watch.ready(GPU) is None
    assert watched.warnings() == []


def test_a_control_program_that_is_missing_is_named(make_watched: MakeWatched, tools: MpsTools) -> None:
    watched = make_watched()
    tools.remove("nvidia-cuda-mps-control")
    watched.watch.follow((PLAN,))
    assert (watched.watch.ready(GPU) or "").startswith(
        "Waiting for the MPS control daemon: nvidia-cuda-mps-control was not found on PATH"
    )


def test_gpus_are_told_of_when_their_daemon_ends_and_when_it_is_back(make_watched: MakeWatched) -> None:
    watched = make_watched(interval=0.05)
    watched.start_daemon()
    watched.mark(written(PLAN))
    watched.watch.follow((PLAN,))
    assert watched.watch.ready(GPU) is None
    watched.wait_told({})
    watched.stop_daemon()
    watched.wait_told({"GPU-0": DEAD, "GPU-1": DEAD})
    watched.start_daemon()
    watched.wait_told({})


def test_daemons_of_resources_that_are_not_served_are_nobodys_concern(make_watched: MakeWatched) -> None:
    watched = make_watched(interval=0.05)
    watched.watch.follow((PLAN,))
    assert watched.watch.ready(GPU) is not None
    watched.start_daemon()
    watched.mark(written(PLAN))
    assert watched.watch.ready(GPU) is None
    told = [watched.told.get(timeout=PATIENCE)]
    while not watched.told.empty():
        told.append(watched.told.get())
    assert all(reasons == {} for reasons in told)


def test_other_plans_are_judged_at_once(make_watched: MakeWatched) -> None:
    watched = make_watched()
    watched.start_daemon()
    watched.mark(written(PLAN))
    watched.watch.follow((PLAN,))
    assert watched.watch.ready(GPU) is None
    watched.watch.follow((plan_of("GPU-0", "GPU-1", "GPU-2"),))
    watched.wait_told({"GPU-2": "its MPS control daemon cannot be used: it was started without this GPU"})
    watched.watch.follow(())
    watched.wait_told({})


def test_what_was_found_out_by_a_plan_that_counts_no_more_is_not_told(make_watched: MakeWatched) -> None:
    watched = make_watched()
    watched.start_daemon()
    watched.mark(written(PLAN))
    # The daemon knows nothing of a third GPU; but by the time that it has said so, nobody shares that any more.
    watched.watch.follow((plan_of("GPU-0", "GPU-1", "GPU-2"),))
    watched.meanwhile = lambda: watched.watch.follow((PLAN,))
    assert watched.watch.ready(GPU) is None
    assert {len(watched.told.get()) for _ in range(watched.told.qsize())} == {0}


def test_a_new_mark_stirs_those_who_wait(make_watched: MakeWatched) -> None:
    watched = make_watched()
    watched.watch.follow((PLAN,))
    watched.mark(written(PLAN))
    watched.stirred.get(timeout=PATIENCE)
    eventually(lambda: watched.watch.ready(GPU) is not None)
