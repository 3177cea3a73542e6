from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_core.labels.values import label_value, legal_text

LEGAL = re.compile(r"^(([A-Za-z0-9][A-Za-z0-9_.-]*)?[A-Za-z0-9])?$")
LONG_MODEL = "NVIDIA RTX Pro 6000 Blackwell Max-Q Workstation Edition Engineering Sample 96GB Special"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("Tesla T4", "Tesla-T4", id="a blank becomes a dash"),
        pytest.param("  My   Box 3000 \n", "My-Box-3000", id="runs of blanks become one dash"),
        pytest.param("line one\nline two\n", "line-oneline-two", id="a line break is dropped"),
        pytest.param("a\tb", "ab", id="a tab is dropped"),
        pytest.param("NVIDIA RTX A6000 (Ada) [x]", "NVIDIA-RTX-A6000-Ada-x", id="brackets are dropped"),
        pytest.param("Größe Box", "Gre-Box", id="letters beyond ASCII are dropped"),
        pytest.param("", "", id="nothing stays nothing"),
    ],
)
def test_text_is_made_legal_as_the_original_does(text: str, expected: str) -> None:
    assert legal_text(text) == expected


@pytest.mark.parametrize(
    ("text", "suffix", "expected"),
    [
        pytest.param("-.weird._-", "", "weird", id="both ends are letters or digits"),
        pytest.param("-._", "", "", id="nothing legal is left"),
        pytest.param("-._", "-MIG-1g.5gb", "MIG-1g.5gb", id="a suffix stands alone without text before it"),
        pytest.param("Tesla T4", "-SHARED", "Tesla-T4-SHARED", id="a suffix is appended"),
        pytest.param("x" * 63, "", "x" * 63, id="63 characters fit"),
        pytest.param("x" * 64, "", "x" * 54 + "-3ad2ac12", id="64 characters are cut and marked"),
        pytest.param(
            LONG_MODEL,
            "",
            "NVIDIA-RTX-Pro-6000-Blackwell-Max-Q-Workstation-Editio-36ffb592",
            id="a long model is cut and marked",
        ),
        pytest.param(
            LONG_MODEL,
            "-MIG-1g.24gb-SHARED",
            "NVIDIA-RTX-Pro-6000-Blackwell-Max-Q-36ffb592-MIG-1g.24gb-SHARED",
            id="a long model gives way to profile and SHARED",
        ),
    ],
)
def test_value(text: str, suffix: str, expected: str) -> None:
    assert label_value(text, suffix=suffix) == expected


@given(st.text(max_size=300), st.sampled_from(["", "-SHARED", "-MIG-1g.5gb.me", "-MIG-1c.3g.20gb-SHARED"]))
def test_every_text_gives_a_legal_value_that_keeps_its_suffix(text: str, suffix: str) -> None:
    value = label_value(text, suffix=suffix)
    assert len(value) <= 63
    assert LEGAL.match(value)
    assert value.endswith(suffix.lstrip("-"))


@given(st.text(min_size=64, max_size=200, alphabet="abc"), st.text(min_size=64, max_size=200, alphabet="abc"))
def test_long_texts_that_differ_give_different_values(one: str, other: str) -> None:
    assert (label_value(one) == label_value(other)) == (one == other)


@given(st.text(max_size=100))
def test_a_value_is_already_its_own_value(text: str) -> None:
    assert label_value(label_value(text)) == label_value(text)
