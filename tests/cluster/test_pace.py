from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_cluster.errors import ApiError
from gpu_cluster.pace import Backoff, TokenBucket


def test_a_burst_passes_at_once_and_the_next_waits_one_after_another() -> None:
    bucket = TokenBucket(qps=5.0, burst=2)
    assert [bucket.take(10.0) for _ in range(4)] == pytest.approx([0.0, 0.0, 0.2, 0.4])


def test_tokens_come_back_with_time_up_to_the_burst() -> None:
    bucket = TokenBucket(qps=5.0, burst=2)
    for _ in range(2):
        bucket.take(0.0)
    assert [bucket.take(100.0) for _ in range(3)] == pytest.approx([0.0, 0.0, 0.2])


def test_no_qps_means_no_limit() -> None:
    bucket = TokenBucket(qps=0.0, burst=1)
    assert [bucket.take(0.0) for _ in range(3)] == [0.0, 0.0, 0.0]


def test_a_token_that_is_not_there_is_not_owed() -> None:
    bucket = TokenBucket(qps=0.1, burst=2)
    assert [bucket.try_take(0.0) for _ in range(4)] == [True, True, False, False]
    assert [bucket.try_take(9.0), bucket.try_take(10.0), bucket.try_take(10.0)] == [False, True, False]
    assert TokenBucket(qps=0.0, burst=1).try_take(0.0)


@given(st.lists(st.floats(0, 5), min_size=1, max_size=50))
def test_never_more_than_burst_plus_rate_times_span(gaps: list[float]) -> None:
    bucket = TokenBucket(qps=5.0, burst=3)
    now, used = 0.0, []
    for gap in gaps:
        now += gap
        used.append(now + bucket.take(now))
    assert used == sorted(used)
    for first in range(len(used)):
        for last in range(first, len(used)):
            assert last - first + 1 <= 3 + 5.0 * (used[last] - used[first]) + 1e-6


def test_pauses_double_and_stop_growing() -> None:
    backoff = Backoff(chance=lambda: 1.0, first=1.0, longest=10.0)
    assert [backoff.next_pause() for _ in range(6)] == [1.0, 2.0, 4.0, 8.0, 10.0, 10.0]
    backoff.reset()
    assert backoff.next_pause() == 1.0


def test_pauses_keep_at_least_half_of_the_step() -> None:
    backoff = Backoff(chance=lambda: 0.0, first=1.0, longest=10.0)
    assert [backoff.next_pause() for _ in range(3)] == [0.5, 1.0, 2.0]


def test_the_server_gets_the_time_it_asks_for() -> None:
    backoff = Backoff(chance=lambda: 0.0, first=1.0, longest=10.0)
    assert backoff.next_pause(retry_after=7.0) == 7.25


@given(st.integers(0, 10_000))
def test_any_number_of_failures_stays_within_the_longest_pause(failures: int) -> None:
    assert Backoff(chance=lambda: 1.0, failures=failures).next_pause() <= 30.0


def test_what_waiting_cannot_change_is_asked_again_only_every_few_minutes() -> None:
    backoff = Backoff(chance=lambda: 1.0)
    forbidden = ApiError("no", status=403)
    assert [backoff.after(forbidden) for _ in range(6)] == [32.0, 64.0, 128.0, 256.0, 300.0, 300.0]
    assert backoff.after(ApiError("busy", status=503)) == 0.8
    backoff.reset()
    assert backoff.after(forbidden) == 32.0


def test_what_passes_is_asked_again_as_before() -> None:
    backoff = Backoff(chance=lambda: 0.0, first=1.0)
    failures = [OSError("disk full"), ApiError("busy", status=503), ApiError("busy", status=429, retry_after=7.0)]
    assert [backoff.after(error) for error in failures] == [0.5, 1.0, 8.0]
