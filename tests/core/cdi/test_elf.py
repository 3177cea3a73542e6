"""The SONAME of a library, and any other bytes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakes.elf import library
from gpu_core.cdi.elf import soname


@pytest.mark.parametrize("wide", [True, False], ids=["64 bit", "32 bit"])
@pytest.mark.parametrize("name", ["libcuda.so.1", "libnvidia-ml.so.1", "x"])
def test_reads_the_soname(name: str, wide: bool) -> None:
    assert soname(library(name, wide=wide)) == name


def test_a_dynamic_section_that_fills_its_segment_needs_no_end() -> None:
    assert soname(library("libcuda.so.1", last=(24, 0))) == "libcuda.so.1"


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"stub\n", id="text"),
        pytest.param(b"\x7fELF", id="only the magic"),
        pytest.param(library(None), id="a library without a SONAME"),
        pytest.param(library("libcuda.so.1", kind=4), id="a program without a dynamic section"),
        pytest.param(library("libcuda.so.1")[:80], id="cut short in the program headers"),
        pytest.param(library("libcuda.so.1")[:-40], id="cut short in the dynamic section"),
        pytest.param(b"\x7fELF\x02\x02" + library("libcuda.so.1")[6:], id="big endian"),
        pytest.param(library(""), id="an empty SONAME"),
        pytest.param(library("libgröße.so"), id="a SONAME that is not ASCII"),
    ],
)
def test_anything_else_has_none(data: bytes) -> None:
    assert soname(data) is None


def test_a_name_outside_every_loaded_segment_is_none() -> None:
    data = bytearray(library("libcuda.so.1"))
    # The loaded segment now begins far behind the address of the names.
    data[64 + 16 : 64 + 24] = (1 << 40).to_bytes(8, "little")
    assert soname(bytes(data)) is None


@given(cut=st.integers(0, 400), position=st.integers(0, 300), value=st.integers(0, 255))
def test_damaged_libraries_never_fail(cut: int, position: int, value: int) -> None:
    data = bytearray(library("libnvidia-ml.so.1"))
    data[position % len(data)] = value
    soname(bytes(data[: cut or None]))


@given(st.binary(max_size=300))
def test_any_bytes_are_answered(data: bytes) -> None:
    soname(b"\x7fELF\x02\x01" + data)
