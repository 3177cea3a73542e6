"""Reads the SONAME of a shared library from its bytes.

Source: the System V ABI (ELF-64 and ELF-32 headers, program headers and dynamic section).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

_MAGIC = b"\x7fELF"
_CLASS_64 = 2
_LITTLE_ENDIAN = 1
_PT_LOAD = 1
_PT_DYNAMIC = 2
_DT_NULL = 0
_DT_STRTAB = 5
_DT_SONAME = 14
_MOST_ENTRIES = 4096
_LONGEST_NAME = 255

Segments = list[tuple[int, int, int, int]]


def soname(library: bytes | memoryview) -> str | None:
    """Return the SONAME in a library's dynamic section.

    None when the bytes are no ELF library, are cut short, or name none. Any bytes are answered; nothing is read
    outside of them, and a section of any length ends.
    """
    try:
        return _soname(memoryview(library))
    except (struct.error, IndexError, ValueError, OverflowError):
        return None


def _soname(data: memoryview) -> str | None:
    if bytes(data[:4]) != _MAGIC or data[5] != _LITTLE_ENDIAN:
        return None
    wide = data[4] == _CLASS_64
    segments = list(_segments(data, wide=wide))
    names = offset = None
    for tag, value in _dynamic(data, segments, wide=wide):
        if tag == _DT_STRTAB:
            names = _file_offset(segments, value)
        elif tag == _DT_SONAME:
            offset = value
    if names is None or offset is None:
        return None
    raw = bytes(data[names + offset : names + offset + _LONGEST_NAME + 1])
    end = raw.find(b"\0")
    return raw[:end].decode("ascii") if end > 0 else None


def _segments(data: memoryview, *, wide: bool) -> Iterator[tuple[int, int, int, int]]:
    """Yield (type, file offset, address, size in the file) of each program header."""
    if wide:
        (start,) = struct.unpack_from("<Q", data, 0x20)
        size, count = struct.unpack_from("<HH", data, 0x36)
    else:
        (start,) = struct.unpack_from("<I", data, 0x1C)
        size, count = struct.unpack_from("<HH", data, 0x2A)
    for position in range(start, start + size * min(count, _MOST_ENTRIES), max(size, 1)):
        if wide:
            kind, _, offset, address, _, length = struct.unpack_from("<IIQQQQ", data, position)
        else:
            kind, offset, address, _, length = struct.unpack_from("<IIIII", data, position)
        yield kind, offset, address, length


def _dynamic(data: memoryview, segments: Segments, *, wide: bool) -> Iterator[tuple[int, int]]:
    """Yield (tag, value) of the dynamic section."""
    form = struct.Struct("<QQ" if wide else "<II")
    for kind, offset, _, length in segments:
        if kind != _PT_DYNAMIC:
            continue
        for position in range(offset, offset + min(length, _MOST_ENTRIES * form.size), form.size):
            tag, value = form.unpack_from(data, position)
            if tag == _DT_NULL:
                return
            yield tag, value


def _file_offset(segments: Segments, address: int) -> int | None:
    """Return where in the file a loaded address lies."""
    for kind, offset, start, length in segments:
        if kind == _PT_LOAD and start <= address < start + length:
            return offset + address - start
    return None
