from __future__ import annotations

import pytest

from gpu_core.config.duration import Duration
from gpu_feature_discovery.schedule import LOOK, Schedule

MINUTE = Duration.of(seconds=60)


def after_a_pass(interval: Duration = MINUTE, *, retry: float | None = None) -> Schedule:
    """Return a schedule that noted a pass at second 100, with the traces `a`."""
    schedule = Schedule(interval=interval)
    schedule.done(100.0, b"a", retry=retry)
    return schedule


def test_the_first_pass_is_made_at_once() -> None:
    assert Schedule(interval=MINUTE).reason(0.0, b"a") == "it is time"
    assert Schedule(interval=MINUTE).wait(0.0) == 0.0


@pytest.mark.parametrize(
    ("schedule", "now", "traces", "asked", "expected"),
    [
        pytest.param(after_a_pass(), 159.9, b"a", (), None, id="before the interval is over"),
        pytest.param(after_a_pass(), 160.0, b"a", (), "it is time", id="after the interval"),
        pytest.param(after_a_pass(), 101.0, b"b", (), "the devices have changed", id="other traces"),
        pytest.param(after_a_pass(), 101.0, b"a", ("SIGHUP", "x"), "SIGHUP, x", id="asked"),
        pytest.param(after_a_pass(retry=3.0), 102.9, b"a", (), None, id="before another attempt"),
        pytest.param(after_a_pass(retry=3.0), 103.0, b"a", (), "it is time", id="another attempt"),
        pytest.param(after_a_pass(retry=90.0), 189.9, b"a", (), None, id="a shorter interval is no reason to try"),
        pytest.param(after_a_pass(retry=90.0), 190.0, b"a", (), "it is time", id="a late attempt"),
        pytest.param(after_a_pass(Duration.infinite()), 1e9, b"a", (), None, id="an infinite interval"),
        pytest.param(
            after_a_pass(Duration.infinite()), 101.0, b"b", (), "the devices have changed", id="infinite, but changed"
        ),
        pytest.param(
            after_a_pass(Duration.infinite(), retry=3.0), 103.0, b"a", (), "it is time", id="infinite, but not arrived"
        ),
        pytest.param(after_a_pass(Duration(0)), 100.05, b"a", (), None, id="no interval is not no pause"),
    ],
)
def test_reason(schedule: Schedule, now: float, traces: bytes, asked: tuple[str, ...], expected: str | None) -> None:
    assert schedule.reason(now, traces, asked=asked) == expected


@pytest.mark.parametrize(
    ("schedule", "now", "expected"),
    [
        pytest.param(after_a_pass(), 100.0, LOOK, id="as long as between two looks"),
        pytest.param(after_a_pass(), 159.0, 1.0, id="until the interval is over"),
        pytest.param(after_a_pass(), 200.0, 0.0, id="not at all when late"),
        pytest.param(after_a_pass(Duration.infinite()), 100.0, LOOK, id="for a look, with an infinite interval"),
    ],
)
def test_wait(schedule: Schedule, now: float, expected: float) -> None:
    assert schedule.wait(now) == expected


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        pytest.param(after_a_pass(), 110.0, id="before the interval is over"),
        pytest.param(after_a_pass(Duration.of(seconds=5)), 105.0, id="not later than the interval"),
        pytest.param(after_a_pass(Duration.infinite()), 110.0, id="with an infinite interval"),
    ],
)
def test_a_pass_can_be_hastened(schedule: Schedule, expected: float) -> None:
    schedule.hasten(110.0)
    assert schedule.due == expected
