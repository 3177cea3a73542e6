"""What a plain YAML scalar means to the original's reader."""

from __future__ import annotations

import math

import pytest

from gpu_core.config.file.scalars import is_yaml11_boolean, resolve, whole_number


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param("", None, id="nothing is null"),
        pytest.param("~", None, id="the tilde is null"),
        pytest.param("Null", None, id="null in other cases"),
        pytest.param("yes", True, id="yes is true"),
        pytest.param("OFF", False, id="OFF is false"),
        pytest.param("tRUE", "tRUE", id="mixed case is text"),
        pytest.param("12", 12, id="a decimal number"),
        pytest.param("-12", -12, id="a negative number"),
        pytest.param("+12", 12, id="a number with a plus sign"),
        pytest.param("0x10", 16, id="hexadecimal"),
        pytest.param("0b101", 5, id="binary"),
        pytest.param("010", 8, id="octal by a leading zero"),
        pytest.param("0o10", 8, id="octal by its prefix"),
        pytest.param("08", 8.0, id="not octal after all: a floating point number"),
        pytest.param("1_000", 1000, id="underscores are skipped"),
        pytest.param("4.0", 4.0, id="a floating point number"),
        pytest.param(".5", 0.5, id="one without a whole part"),
        pytest.param("1e9", 1e9, id="one with an exponent"),
        pytest.param("99999999999999999999", 1e20, id="a number beyond 64 bits"),
        pytest.param("1e999", "1e999", id="a number beyond floating point is text"),
        pytest.param(".inf", math.inf, id="infinity"),
        pytest.param("-.INF", -math.inf, id="negative infinity"),
        pytest.param("0:10", "0:10", id="no sexagesimal numbers"),
        pytest.param("2024-01-01", "2024-01-01", id="no dates"),
        pytest.param("1g.5gb", "1g.5gb", id="a MIG profile"),
        pytest.param("-", "-", id="a dash"),
        pytest.param("9" * 500, "9" * 500, id="too many digits for a number"),
    ],
)
def test_resolves_like_go_yaml(text: str, value: object) -> None:
    resolved = resolve(text)

    assert (type(resolved), resolved) == (type(value), value)


def test_knows_not_a_number() -> None:
    assert math.isnan(float(str(resolve(".nan"))))


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        pytest.param("yes", True, id="yes"),
        pytest.param("n", True, id="a single letter"),
        pytest.param("true", False, id="true is a boolean everywhere"),
        pytest.param("hello", False, id="a word"),
        pytest.param("~", False, id="null"),
    ],
)
def test_tells_booleans_of_yaml_11(text: str, is_one: bool) -> None:
    assert is_yaml11_boolean(text) is is_one


@pytest.mark.parametrize("text", ["", "x", "0x", "1.0", "--1"])
def test_refuses_what_is_no_whole_number(text: str) -> None:
    assert whole_number(text) is None
