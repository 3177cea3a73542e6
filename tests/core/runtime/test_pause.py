"""Pauses after failures: doubled, bounded, spread by chance, and never shorter than a server asks for."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gpu_core.runtime.pause import Pause, Retry

PAUSE = Pause(first=1.0, longest=10.0)


def test_pauses_double_and_stop_growing() -> None:
    retry = Retry(pause=PAUSE)
    assert [retry.failed() for _ in range(6)] == [1.0, 2.0, 4.0, 8.0, 10.0, 10.0]
    retry.succeeded()
    assert retry.failed() == 1.0


def test_chance_leaves_at_least_half_of_a_pause() -> None:
    least, most = Retry(pause=PAUSE, chance=lambda: 0.0), Retry(pause=PAUSE, chance=lambda: 1.0)
    assert [(least.failed(), most.failed()) for _ in range(3)] == [(0.5, 1.0), (1.0, 2.0), (2.0, 4.0)]


def test_a_server_gets_the_time_it_asks_for() -> None:
    assert Retry(pause=PAUSE, chance=lambda: 0.0).failed(retry_after=7.0) == 7.25
    assert Retry(pause=PAUSE, failures=9).failed(retry_after=1.0) == 10.0


@given(st.integers(0, 10_000))
def test_any_number_of_failures_stays_within_the_longest_pause(failures: int) -> None:
    assert Retry(pause=PAUSE, failures=failures).failed() <= PAUSE.longest
