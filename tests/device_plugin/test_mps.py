"""Whether GPUs that are shared through MPS can be used, from what is known of their daemon."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from core.mps.sharing import plan_of
from device_plugin.mps import Seen, obstacle, unusable
from gpu_core.mps import STARTING, digest
from gpu_core.mps.marks import written

PLAN = plan_of("GPU-0", "GPU-1")
DIGEST = digest([PLAN])
MARK = written(PLAN).strip()
DEAD = "it does not answer: Cannot find MPS control daemon process"
OTHERWISE = "it runs with another config or for other GPUs than we have"
PARTS = "it divides GPUs into 3 parts, but the config asks for 2"


def both(reason: str) -> Mapping[str, str]:
    return {"GPU-0": reason, "GPU-1": reason}


@pytest.mark.parametrize(
    ("mark", "ready", "illness", "expected"),
    [
        pytest.param(MARK, DIGEST, None, {}, id="everything agrees"),
        pytest.param(MARK, DIGEST, DEAD, both(DEAD), id="marks outlive a daemon that died"),
        pytest.param("", "", DEAD, both(DEAD), id="there is no daemon"),
        pytest.param("", "", None, {}, id="the original's daemon answers and leaves empty marks"),
        pytest.param(MARK, "", None, {}, id="the daemon is in order while another resource's is not"),
        pytest.param(MARK, "other", None, {}, id="the readiness file speaks of another resource too"),
        pytest.param(STARTING, "", None, both("it is starting"), id="the daemon has no limits yet"),
        pytest.param("", DIGEST, None, {}, id="a readiness file is enough"),
        pytest.param("", "other", None, both(OTHERWISE), id="a readiness file for something else"),
        pytest.param(
            written(plan_of("GPU-0", "GPU-1", replicas=3)),
            "other",
            None,
            both(PARTS),
            id="the daemon runs for other shares",
        ),
        pytest.param(
            written(plan_of("GPU-0")), "", None, {"GPU-1": "it was started without this GPU"}, id="one GPU came later"
        ),
        pytest.param(written(plan_of("GPU-0", "GPU-1", "GPU-2")), "", None, {}, id="one GPU was lost since"),
    ],
)
def test_what_cannot_be_used(mark: str, ready: str, illness: str | None, expected: Mapping[str, str]) -> None:
    assert unusable(PLAN, DIGEST, Seen(mark=mark, ready=ready, illness=illness)) == expected


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        (Seen(mark="", ready="", illness=None), True),
        (Seen(mark="", ready="", illness=DEAD), False),
        (Seen(mark="", ready=DIGEST, illness=None), False),
        (Seen(mark=MARK, ready="", illness=None), False),
    ],
)
def test_a_daemon_that_answers_without_any_mark_is_the_originals(seen: Seen, expected: bool) -> None:
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
