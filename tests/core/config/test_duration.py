"""Durations in Go's notation."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_core.config.duration import Duration

SECOND = 1_000_000_000


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        pytest.param("60s", 60 * SECOND, id="whole seconds"),
        pytest.param("1h30m", 5400 * SECOND, id="hours and minutes"),
        pytest.param("1.5h", 5400 * SECOND, id="a fraction of an hour"),
        pytest.param(".5s", SECOND // 2, id="a fraction without a whole part"),
        pytest.param("5.s", 5 * SECOND, id="a point without decimals"),
        pytest.param("250ms", SECOND // 4, id="milliseconds"),
        pytest.param("10us", 10_000, id="microseconds in ASCII"),
        pytest.param("10µs", 10_000, id="microseconds with the micro sign"),
        pytest.param("10μs", 10_000, id="microseconds with the Greek letter"),
        pytest.param("7ns", 7, id="nanoseconds"),
        pytest.param("1.9ns", 1, id="what is smaller than a nanosecond is cut off"),
        pytest.param("-5s", -5 * SECOND, id="negative"),
        pytest.param("+5s", 5 * SECOND, id="with a plus sign"),
        pytest.param("0", 0, id="zero needs no unit"),
        pytest.param("-0", 0, id="nor does minus zero"),
        pytest.param("infinite", 2**63 - 1, id="the word for no end"),
    ],
)
def test_reads_what_go_reads(text: str, nanoseconds: int) -> None:
    assert Duration.parse(text) == Duration(nanoseconds)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param("", "no duration", id="nothing"),
        pytest.param("-", "no duration", id="a sign alone"),
        pytest.param("soon", "no duration", id="a word"),
        pytest.param("15", "lacks a unit", id="a number alone"),
        pytest.param("1d", "unknown unit 'd'", id="days"),
        pytest.param("1 s", "unknown unit ' s'", id="a blank"),
        pytest.param("Infinite", "no duration", id="the word in upper case"),
        pytest.param(".s", "no duration", id="a point alone"),
        pytest.param("9999999h", "292 years", id="more than Go can hold"),
        pytest.param("1" * 5000 + "s", "no duration", id="more digits than any duration needs"),
    ],
)
def test_says_why_it_refuses(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        Duration.parse(text)


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        pytest.param(0, "0s", id="zero"),
        pytest.param(1, "1ns", id="a nanosecond"),
        pytest.param(1_500, "1.5µs", id="microseconds"),
        pytest.param(250_000_000, "250ms", id="milliseconds"),
        pytest.param(1_500_000_000, "1.5s", id="a second and a half"),
        pytest.param(60 * SECOND, "1m0s", id="a minute"),
        pytest.param(5400 * SECOND, "1h30m0s", id="an hour and a half"),
        pytest.param(-5 * SECOND, "-5s", id="negative"),
        pytest.param(2**63 - 1, "infinite", id="no end"),
    ],
)
def test_writes_what_go_writes(nanoseconds: int, text: str) -> None:
    assert str(Duration(nanoseconds)) == text


@given(st.integers(min_value=-(2**63), max_value=2**63 - 1))
def test_reads_back_what_it_writes(nanoseconds: int) -> None:
    assert Duration.parse(str(Duration(nanoseconds))) == Duration(nanoseconds)


def test_measures_in_seconds() -> None:
    assert Duration.of(seconds=1.5).seconds == 1.5
    assert Duration.infinite().is_infinite
    assert not Duration.of(seconds=1).is_infinite
