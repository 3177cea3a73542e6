"""What daemons leave behind, and what can be told from it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.mps.sharing import plan_of
from gpu_core.mps import STARTING, DaemonPlan, SharedGpu, digest, is_same, shortcomings
from gpu_core.mps.marks import read, written

PLANS = st.builds(
    DaemonPlan,
    resource=st.sampled_from(["nvidia.com/gpu", "nvidia.com/gpu.shared"]),
    gpus=st.lists(
        st.builds(SharedGpu, uuid=st.sampled_from(["a", "b", "c"]), memory_limit=st.none() | st.integers(1, 3)),
        unique_by=lambda gpu: gpu.uuid,
    ).map(tuple),
    replicas=st.integers(2, 4),
    active_thread_percentage=st.none() | st.sampled_from([25.0, 50.0]),
)


@given(PLANS)
def test_a_mark_tells_the_whole_plan(plan: DaemonPlan) -> None:
    assert read(written(plan)) == plan


@given(st.lists(PLANS, max_size=2), st.lists(PLANS, max_size=2))
def test_equal_plans_have_equal_digests(one: list[DaemonPlan], other: list[DaemonPlan]) -> None:
    assert (digest(one) == digest(other)) == (one == other)


@pytest.mark.parametrize("mark", ["", STARTING, "{}", "[]", "7", '{"resource": "x", "gpus": [1]}'])
def test_other_marks_tell_of_no_plan(mark: str) -> None:
    assert read(mark) is None


@given(PLANS)
def test_a_plan_falls_short_of_itself_in_nothing(plan: DaemonPlan) -> None:
    assert shortcomings(plan, plan) == {}
    assert is_same(plan, plan, lost=())


RUNNING = plan_of("GPU-0", "GPU-1")


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        pytest.param(plan_of("GPU-1"), {}, id="a daemon may serve more GPUs than wanted"),
        pytest.param(
            plan_of("GPU-1", "GPU-2"),
            {"GPU-2": "it was started without this GPU"},
            id="one GPU that is new keeps the others as they are",
        ),
        pytest.param(
            plan_of("GPU-1", limit=9),
            {"GPU-1": "it gives a client 20000 MiB, but the config asks for 9 MiB"},
            id="another limit of memory",
        ),
        pytest.param(
            plan_of("GPU-1", limit=None),
            {"GPU-1": "it gives a client 20000 MiB, but the config asks for any memory"},
            id="no limit of memory",
        ),
        pytest.param(
            plan_of("GPU-0", "GPU-1", replicas=4),
            dict.fromkeys(RUNNING.uuids, "it divides GPUs into 2 parts, but the config asks for 4"),
            id="other replicas concern every GPU",
        ),
        pytest.param(
            plan_of("GPU-0", percentage=None),
            {"GPU-0": "it gives a client 50 % of the threads, but the config asks for all threads"},
            id="no limit of threads",
        ),
    ],
)
def test_shortcomings_are_told_by_gpu(wanted: DaemonPlan, expected: dict[str, str]) -> None:
    assert shortcomings(RUNNING, wanted) == expected


@pytest.mark.parametrize(
    ("wanted", "lost", "same"),
    [
        pytest.param(plan_of("GPU-0"), ["GPU-1"], True, id="a GPU that got lost makes no difference"),
        pytest.param(plan_of("GPU-0"), [], False, id="one that is not wanted any more does"),
        pytest.param(RUNNING, ["GPU-1"], True, id="one that is wanted though it was lost does not"),
        pytest.param(replace(RUNNING, replicas=3), [], False, id="nor do other replicas stay unnoticed"),
        pytest.param(plan_of("GPU-0", "GPU-1", "GPU-2"), [], False, id="nor one GPU more"),
    ],
)
def test_a_daemon_is_the_same_apart_from_lost_gpus(wanted: DaemonPlan, lost: list[str], same: bool) -> None:
    assert is_same(RUNNING, wanted, lost) is same
