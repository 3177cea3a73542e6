"""Whether GPUs that are shared through MPS can be used, from what is known of their daemon."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from core.mps.sharing import plan_of
from gpu_core.mps import STARTING, DaemonPlan, digest
from gpu_core.mps.marks import written
from gpu_core.mps.readiness import DaemonSeen, obstacle, unusable

PLAN = plan_of("GPU-0", "GPU-1")
DIGEST = digest([PLAN])
MARK = written(PLAN).strip()
DEAD = "it does not answer: Cannot find MPS control daemon process"
OTHERWISE = "it runs with another config or for other GPUs than we have"
PARTS = "it divides GPUs into 3 parts, but the config asks for 2"


def both(reason: str) -> Mapping[str, str]:
    return {"GPU-0": reason, "GPU-1": reason}


NONE: Mapping[str, str] = {}
STARTS = both("it is starting")
OTHER_SHARES = written(plan_of("GPU-0", "GPU-1", replicas=3)).strip()

# What an answering daemon's files mean: its pipe directory, its mark (None where it is missing), and what cannot be
# used by readiness file: none or an empty one, one for our plans, one for others.
TABLE: tuple[tuple[bool, str | None, tuple[Mapping[str, str], ...]], ...] = (
    (False, None, (NONE, NONE, both(OTHERWISE))),
    (False, "", (NONE, NONE, both(OTHERWISE))),
    (False, STARTING, (STARTS, STARTS, STARTS)),
    (False, MARK, (NONE, NONE, NONE)),
    (False, OTHER_SHARES, (both(PARTS), both(PARTS), both(PARTS))),
    (True, None, (STARTS, STARTS, STARTS)),
    (True, "", (NONE, NONE, both(OTHERWISE))),
    (True, STARTING, (STARTS, STARTS, STARTS)),
    (True, MARK, (NONE, NONE, NONE)),
    (True, OTHER_SHARES, (both(PARTS), both(PARTS), both(PARTS))),
)
READY = {"": "no readiness file", DIGEST: "a readiness file for us", "other": "a readiness file for others"}
MARKS = {
    None: "no mark",
    "": "an empty mark",
    STARTING: "the mark of a start",
    MARK: "a mark of what we want",
    OTHER_SHARES: "a mark of something else",
}


@pytest.mark.parametrize("unanswered", [None, DEAD], ids=["it answers", "it does not answer"])
@pytest.mark.parametrize(
    ("pipe", "mark", "ready", "expected"),
    [
        pytest.param(
            pipe, mark, ready, expected, id=f"{'a' if pipe else 'no'} pipe directory, {MARKS[mark]}, {READY[ready]}"
        )
        for pipe, mark, columns in TABLE
        for ready, expected in zip(READY, columns, strict=True)
    ],
)
def test_what_cannot_be_used(
    pipe: bool, mark: str | None, ready: str, unanswered: str | None, expected: Mapping[str, str]
) -> None:
    seen = DaemonSeen(unanswered=unanswered, mark=mark, pipe=pipe, ready=ready)
    assert unusable(PLAN, DIGEST, seen) == (expected if unanswered is None else both(DEAD))


@pytest.mark.parametrize(
    ("plan", "expected"),
    [
        pytest.param(plan_of("GPU-0"), {"GPU-1": "it was started without this GPU"}, id="one GPU came later"),
        pytest.param(plan_of("GPU-0", "GPU-1", "GPU-2"), {}, id="one GPU was lost since"),
    ],
)
def test_a_mark_is_judged_gpu_by_gpu(plan: DaemonPlan, expected: Mapping[str, str]) -> None:
    assert unusable(PLAN, DIGEST, DaemonSeen(unanswered=None, mark=written(plan), pipe=True, ready="")) == expected


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        (DaemonSeen(unanswered=None, mark="", pipe=True, ready=""), True),
        (DaemonSeen(unanswered=None, mark=None, pipe=False, ready=""), True),
        (DaemonSeen(unanswered=None, mark=None, pipe=True, ready=""), False),
        (DaemonSeen(unanswered=DEAD, mark="", pipe=True, ready=""), False),
        (DaemonSeen(unanswered=None, mark="", pipe=True, ready=DIGEST), False),
        (DaemonSeen(unanswered=None, mark=MARK, pipe=True, ready=""), False),
    ],
)
def test_a_daemon_that_answers_without_saying_anything_is_the_originals(seen: DaemonSeen, expected: bool) -> None:
    assert seen.unmarked is expected


@pytest.mark.parametrize(
    ("reasons", "waited", "expected"),
    [
        pytest.param({}, 0, None, id="all can be used"),
        pytest.param({"GPU-1": DEAD}, 0, None, id="some can be used"),
        pytest.param(both(PARTS), 59, f"Waiting for the MPS control daemon: {PARTS}", id="none can be used yet"),
        pytest.param(
            both(PARTS),
            60,
            f"The MPS control daemon was not ready within 60 s and is still waited for: {PARTS}. See the log of "
            "mps-control-daemon on this node, and whether both programs have the same config",
            id="none could be used for long",
        ),
        pytest.param(
            {"GPU-0": "one", "GPU-1": "other"},
            0,
            "Waiting for the MPS control daemon: one; other",
            id="for two reasons",
        ),
    ],
)
def test_what_a_resource_waits_for(reasons: Mapping[str, str], waited: float, expected: str | None) -> None:
    assert obstacle(PLAN, reasons, waited=waited, patience=60) == expected
