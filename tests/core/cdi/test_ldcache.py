"""The libraries listed in an ld.so.cache, and any other bytes."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_core.cdi.ldcache import libraries

X86_64, I386, NOT_ELF = 0x0303, 0x0003, 0x0300


def cache(*entries: tuple[int, str], old: int | None = None) -> bytes:
    """Return a cache in the new format, behind `old` entries of the old one."""
    head, size = 48, 24
    strings, table = b"", b""
    for flags, path in entries:
        at = head + size * len(entries) + len(strings)
        strings += path.encode() + b"\0"
        table += struct.pack("<iIIIQ", flags, at, at, 0, 0)
    new = struct.pack("<20sII3IQ", b"glibc-ld.so.cache1.1", len(entries), len(strings), 0, 0, 0, 0) + table + strings
    if old is None:
        return new
    front = b"ld.so-1.7.0\0" + struct.pack("<I", old) + bytes(12 * old)
    return front + bytes(-len(front) % 8) + new


CUDA = "/usr/lib/x86_64-linux-gnu/libcuda.so.1"
ML = "/opt/nvidia/lib/libnvidia-ml.so.1"


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param(cache((X86_64, CUDA), (X86_64, ML)), (CUDA, ML), id="the new format, in the cache's order"),
        pytest.param(cache((X86_64, CUDA), old=3), (CUDA,), id="the new format behind the old one"),
        pytest.param(cache((X86_64, CUDA), old=0), (CUDA,), id="behind an old format without entries"),
        pytest.param(cache((X86_64, CUDA), (X86_64, CUDA)), (CUDA,), id="a library twice"),
        pytest.param(cache((I386, CUDA), (X86_64, ML)), (ML,), id="32-bit libraries are left out"),
        pytest.param(cache((NOT_ELF, CUDA)), (), id="other files are left out"),
        pytest.param(cache((X86_64, "libcuda.so.1")), (), id="relative paths are left out"),
        pytest.param(cache((X86_64, CUDA))[:-1], (), id="a path without its end"),
        pytest.param(cache((X86_64, CUDA), (X86_64, ML))[:60], (), id="cut short in the first entry"),
        pytest.param(cache(), (), id="an empty cache"),
        pytest.param(b"", (), id="an empty file"),
        pytest.param(b"ld.so-1.7.0\0", (), id="only the old magic"),
        pytest.param(b"not a cache at all, but long enough to be one", (), id="other bytes"),
    ],
)
def test_lists_the_libraries(data: bytes, expected: tuple[str, ...]) -> None:
    assert libraries(data) == expected


@given(st.binary(max_size=200), st.booleans())
def test_any_bytes_are_answered(data: bytes, old: bool) -> None:
    libraries((b"ld.so-1.7.0\0" if old else b"glibc-ld.so.cache1.1") + data)
