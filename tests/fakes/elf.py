"""Makes the smallest shared library that carries a SONAME."""

import struct


def library(soname: str | None, *, wide: bool = True, kind: int = 2, last: tuple[int, int] = (0, 0)) -> bytes:
    """Return the bytes of a little-endian ELF library; without a SONAME when None.

    `kind` is the type of the segment that holds the dynamic section, `last` that section's last entry.
    """
    names = b"\0" + (soname or "").encode() + b"\0"
    head, program = (64, 56) if wide else (52, 32)
    names_at = head + 2 * program
    dynamic_at = names_at + len(names) + -len(names) % 8
    entries = [(1, 0), (5, names_at), *([(14, 1)] if soname is not None else []), last]
    dynamic = b"".join(struct.pack("<QQ" if wide else "<II", *entry) for entry in entries)
    size = dynamic_at + len(dynamic)
    identity = b"\x7fELF" + bytes([2 if wide else 1, 1, 1]) + bytes(9)
    if wide:
        header = identity + struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, head, 0, 0, head, program, 2, 0, 0, 0)
        load = struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, size, size, 4096)
        where = struct.pack("<IIQQQQQQ", kind, 6, dynamic_at, dynamic_at, dynamic_at, len(dynamic), len(dynamic), 8)
    else:
        header = identity + struct.pack("<HHIIIIIHHHHHH", 3, 3, 1, 0, head, 0, 0, head, program, 2, 0, 0, 0)
        load = struct.pack("<IIIIIIII", 1, 0, 0, 0, size, size, 5, 4096)
        where = struct.pack("<IIIIIIII", kind, dynamic_at, dynamic_at, dynamic_at, len(dynamic), len(dynamic), 6, 4)
    return (header + load + where + names).ljust(dynamic_at, b"\0") + dynamic
