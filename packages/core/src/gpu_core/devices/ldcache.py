"""Reads what a loader knows: the libraries in an `ld.so.cache`, and the directories in its configuration.

Source: glibc's cache format 1.1, alone or behind the old format's entries; ld.so.conf as ldconfig(8) describes it.
"""

from __future__ import annotations

import struct

_OLD_MAGIC = b"ld.so-1.7.0\0"
_OLD_ENTRY = struct.Struct("<iII")
_MAGIC = b"glibc-ld.so.cache1.1"
_HEADER = struct.Struct("<20sII3IQ")
_ENTRY = struct.Struct("<iIIIQ")
_FLAG_ELF = 0x0001
_ARCHITECTURE_MASK = 0xFF00
_ARCHITECTURES_64 = frozenset({0x0300, 0x0500, 0x0A00})
_MOST_ENTRIES = 100_000
_LONGEST_PATH = 4096


def libraries(cache: bytes) -> tuple[str, ...]:
    """Return the absolute paths of the cache's 64-bit libraries, each once, in the cache's order.

    Bytes that are no such cache, or are cut short, give what can be read of them, which may be nothing. A path longer
    than the kernel takes is none, so that no bytes cost more than their own size many times over.
    """
    start = _start(cache)
    if len(cache) < start + _HEADER.size or not cache.startswith(_MAGIC, start):
        return ()
    count = _HEADER.unpack_from(cache, start)[1]
    found: dict[str, None] = {}
    for number in range(min(count, _MOST_ENTRIES)):
        position = start + _HEADER.size + number * _ENTRY.size
        if position + _ENTRY.size > len(cache):
            break
        flags, _, value, _, _ = _ENTRY.unpack_from(cache, position)
        if not flags & _FLAG_ELF or flags & _ARCHITECTURE_MASK not in _ARCHITECTURES_64:
            continue
        path = _text(cache, start + value)
        if path.startswith("/"):
            found[path] = None
    return tuple(found)


def directories(configuration: str) -> tuple[str, ...]:
    """Return the absolute directories of a loader's configuration file, each once, in its order.

    `include` and `hwcap` lines, comments, and the types of libraries that old files name are passed over.
    """
    lines = (line.partition("#")[0].strip().partition("=")[0].rstrip() for line in configuration.splitlines())
    return tuple(dict.fromkeys(line for line in lines if line.startswith("/") and len(line) < _LONGEST_PATH))


def _start(cache: bytes) -> int:
    """Return where the new format begins: behind the old entries, aligned to eight bytes, or at once."""
    if not cache.startswith(_OLD_MAGIC) or len(cache) < len(_OLD_MAGIC) + 4:
        return 0
    count = int.from_bytes(cache[len(_OLD_MAGIC) : len(_OLD_MAGIC) + 4], "little")
    end = len(_OLD_MAGIC) + 4 + count * _OLD_ENTRY.size
    return end + -end % 8


def _text(cache: bytes, position: int) -> str:
    end = cache.find(b"\0", position, position + _LONGEST_PATH)
    return cache[position:end].decode("utf-8", "replace") if end > position else ""
