"""Names of resources, references to devices and patterns of products."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_core.config.names import full_resource_name, is_device_reference, matches

UUID = "b1028956-cfa2-0990-bf4a-5da9abb51763"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        pytest.param("gpu", "nvidia.com/gpu", id="the prefix is added"),
        pytest.param("nvidia.com/gpu", "nvidia.com/gpu", id="the prefix is kept"),
        pytest.param("mig-1g.5gb", "nvidia.com/mig-1g.5gb", id="points are allowed"),
        pytest.param("b" * 52, "nvidia.com/" + "b" * 52, id="63 bytes in all are allowed"),
    ],
)
def test_completes_resource_names(text: str, name: str) -> None:
    assert full_resource_name(text) == name


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param("", "no resource name", id="nothing"),
        pytest.param("GPU", "no resource name", id="upper case"),
        pytest.param("my_gpu", "no resource name", id="an underscore"),
        pytest.param("-gpu", "no resource name", id="a dash in front"),
        pytest.param("gpu.", "no resource name", id="a point at the end"),
        pytest.param("example.com/gpu", "no resource name", id="another prefix"),
        pytest.param("gpu\n", "no resource name", id="a line end"),
        pytest.param("b" * 53, "64 bytes", id="64 bytes in all"),
    ],
)
def test_refuses_names_that_the_kubelet_would(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        full_resource_name(text)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("0", id="a GPU index"),
        pytest.param("007", id="an index with leading zeros"),
        pytest.param("0:1", id="a MIG index"),
        pytest.param(f"GPU-{UUID}", id="a GPU's UUID"),
        pytest.param(f"MIG-{UUID}", id="a MIG device's UUID"),
        pytest.param(f"MIG-GPU-{UUID}/3/0", id="a MIG device of an older driver"),
        pytest.param(f"GPU-{{{UUID}}}", id="a UUID in braces"),
        pytest.param(f"GPU-urn:uuid:{UUID}", id="a UUID as a URN"),
        pytest.param(f"GPU-{UUID.replace('-', '')}", id="a UUID without dashes"),
    ],
)
def test_knows_references_to_devices(text: str) -> None:
    assert is_device_reference(text)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="nothing"),
        pytest.param("-1", id="a negative index"),
        pytest.param("0:", id="half a MIG index"),
        pytest.param("0:1:2", id="one number too many"),
        pytest.param("18446744073709551616", id="an index beyond 64 bits"),
        pytest.param("GPU-123", id="a short UUID"),
        pytest.param(UUID, id="a UUID without its kind"),
        pytest.param(f"MIG-GPU-{UUID}", id="an old MIG name without its instances"),
        pytest.param(f"MIG-GPU-{UUID}/3/x", id="an old MIG name with a word"),
        pytest.param(f"MIG-GPU-{UUID}/3/0/1", id="an old MIG name with a number too many"),
    ],
)
def test_refuses_what_names_no_device(text: str) -> None:
    assert not is_device_reference(text)


@pytest.mark.parametrize(
    ("pattern", "text", "fits"),
    [
        pytest.param("*", "", True, id="a star fits nothing at all"),
        pytest.param("*", "NVIDIA A100\nodd", True, id="a star fits any text"),
        pytest.param("NVIDIA A100*", "NVIDIA A100-SXM4-40GB", True, id="a star fits the rest"),
        pytest.param("*A100*40GB", "NVIDIA A100-SXM4-40GB", True, id="several stars fit several texts"),
        pytest.param("A100", "NVIDIA A100", False, id="the whole text has to fit"),
        pytest.param("A.00", "A100", False, id="a dot is only a dot"),
        pytest.param("a100", "A100", False, id="case counts"),
        pytest.param("RTX [x]?", "RTX [x]?", True, id="brackets and question marks are themselves"),
        pytest.param("A100*00", "A100", False, id="a letter counts once, at the beginning or at the end"),
        pytest.param("*ab*ba*", "aba", False, id="and once in the middle"),
        pytest.param("*ab*ba*", "abba", True, id="what stands between stars may touch"),
        pytest.param("", "", True, id="nothing fits nothing"),
        pytest.param("", "A100", False, id="nothing fits nothing else"),
        pytest.param("*" * 60 + "!", "NVIDIA A100-SXM4-40GB", False, id="many stars in a row"),
        pytest.param("*a" * 30 + "!", "a" * 60, False, id="many stars among equal letters"),
    ],
)
def test_patterns_fit_whole_texts(pattern: str, text: str, fits: bool) -> None:
    assert matches(pattern, text) is fits


@given(pattern=st.text("ab*", max_size=8), text=st.text("ab", max_size=8))
def test_a_star_stands_for_any_text_and_all_else_for_itself(pattern: str, text: str) -> None:
    """Where trying every way takes no time, it says what is right."""
    every_way = ".*".join(re.escape(part) for part in pattern.split("*"))
    assert matches(pattern, text) is (re.fullmatch(every_way, text) is not None)
