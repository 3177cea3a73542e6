"""How fast requests may be made."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_cluster.rate import TokenBucket


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
