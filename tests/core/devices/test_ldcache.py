"""The libraries listed in an ld.so.cache, the directories in ld.so.conf, and any other bytes."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_core.devices.ldcache import directories, libraries

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


def entry(place: int, *, count: int = 1, text: bytes = b"") -> bytes:
    """Return a cache of `count` entries that all name the text at `place`."""
    head = struct.pack("<20sII3IQ", b"glibc-ld.so.cache1.1", count, len(text), 0, 0, 0, 0)
    return head + struct.pack("<iIIIQ", X86_64, place, place, 0, 0) * count + text


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
        pytest.param(entry(72, text=b"/x\0")[:-1], (), id="a text that ends with the file"),
        pytest.param(entry(0xFFFFFFFF), (), id="a text far behind the end"),
        pytest.param(entry(72), (), id="a text right behind the end"),
        pytest.param(entry(24, text=b"/x\0"), (), id="a text inside the header"),
        pytest.param(entry(72, text=b"/" + b"x" * 5000 + b"\0"), (), id="a path longer than any"),
        pytest.param(entry(72, text=b"\0"), (), id="an empty path"),
        pytest.param(entry(72, text=b"/\xff\xfe.so\0"), ("/\ufffd\ufffd.so",), id="a path that is no text"),
        pytest.param(b"ld.so-1.7.0\0" + b"\xff" * 64, (), id="old entries without number"),
        pytest.param(cache((X86_64, CUDA))[:24] + b"\xff" * 60, (), id="a table of other bytes"),
        pytest.param(
            entry(72)[:20] + b"\xff" * 4 + entry(72, text=b"/x\0")[24:], ("/x",), id="more entries than bytes"
        ),
        pytest.param(b"", (), id="an empty file"),
        pytest.param(b"ld.so-1.7.0\0", (), id="only the old magic"),
        pytest.param(b"not a cache at all, but long enough to be one", (), id="other bytes"),
    ],
)
def test_lists_the_libraries(data: bytes, expected: tuple[str, ...]) -> None:
    assert libraries(data) == expected


def test_entries_that_all_name_one_endless_text_are_soon_read() -> None:
    # Each would be a path of 16 MiB.
    assert libraries(entry(24 * 20_000 + 48, count=20_000, text=b"/" + b"x" * (16 << 20))) == ()


@given(st.binary(max_size=200), st.booleans())
def test_any_bytes_are_answered(data: bytes, old: bool) -> None:
    libraries((b"ld.so-1.7.0\0" if old else b"glibc-ld.so.cache1.1") + data)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("/opt/nvidia/lib64\n", ("/opt/nvidia/lib64",), id="a directory"),
        pytest.param(" /a \n\t/b\n/a\n", ("/a", "/b"), id="blanks, and one twice"),
        pytest.param("# /a\n/b # of ours\n", ("/b",), id="comments"),
        pytest.param("/a=libc6\n", ("/a",), id="a type of library"),
        pytest.param("include /etc/ld.so.conf.d/*.conf\nhwcap 1 nosegneg\nlib\n", (), id="other lines"),
        pytest.param("/" + "x" * 5000, (), id="a path longer than any"),
        pytest.param("", (), id="an empty file"),
    ],
)
def test_lists_the_directories(text: str, expected: tuple[str, ...]) -> None:
    assert directories(text) == expected
