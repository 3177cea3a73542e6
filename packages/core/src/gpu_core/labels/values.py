"""Legal label values: at most 63 characters of `[A-Za-z0-9._-]`, with a letter or a digit at both ends, or empty.

Text that is too long is cut and marked with a checksum of the whole, so that two long names that begin alike
stay apart and the same name gives the same value on every node and in every release:

    NVIDIA-RTX-Pro-6000-Blackwell-Max-Q-Works-1b0a2c3d-MIG-1g.24gb-SHARED
"""

from __future__ import annotations

import re
import zlib

LIMIT = 63

_ILLEGAL = re.compile(r"[^A-Za-z0-9\-_. ]")
_NOT_AT_ENDS = "-_."


def legal_text(text: str) -> str:
    """Drop characters that a label value cannot hold, and turn runs of blanks into single dashes."""
    return "-".join(_ILLEGAL.sub("", text).split())


def label_value(text: str, *, suffix: str = "", limit: int = LIMIT, marked: bool = False) -> str:
    """Return the legal value for any text, with `suffix` (legal, and kept whole) behind it.

    The whole is at most `limit` characters long. `-MIG-1g.5gb-SHARED` is such a suffix: the text before it is
    shortened, never the suffix, since that is what tells one resource of a model from another. `marked` appends a
    checksum of the text as it was given, for one that is not the same any more once it is legal.
    """
    kept = legal_text(text).strip(_NOT_AT_ENDS)
    room = limit - len(suffix)
    if marked or len(kept) > room:
        mark = f"-{checksum(text if marked else kept)}"
        kept = (kept[: room - len(mark)].rstrip(_NOT_AT_ENDS) + mark).lstrip(_NOT_AT_ENDS)
    return kept + suffix if kept else suffix.strip(_NOT_AT_ENDS)


def checksum(text: str) -> str:
    """Return the CRC-32 of any text in hexadecimal, of eight digits."""
    return f"{zlib.crc32(text.encode(errors='backslashreplace')):08x}"
