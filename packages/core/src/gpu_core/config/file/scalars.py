"""The meaning of a plain YAML scalar, as the original's reader (go-yaml 2) sees it.

That reader speaks YAML 1.1 with exceptions: `yes` and `on` are booleans, `010` and `0o10` are eight, `1_000` is a
thousand, but `0:10` is text (no sexagesimal numbers) and so are dates.
"""

from __future__ import annotations

import math
import re

Plain = str | int | float | bool | None

_WORDS: dict[str, Plain] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE", "y", "Y", "yes", "Yes", "YES", "on", "On", "ON"), True),
    **dict.fromkeys(("false", "False", "FALSE", "n", "N", "no", "No", "NO", "off", "Off", "OFF"), False),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
}
# The only spellings that are booleans in YAML 1.2 and JSON-minded tools too.
_MODERN_BOOLEANS = frozenset(("true", "True", "TRUE", "false", "False", "FALSE"))
_INTEGER = re.compile(r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|(0|[1-9][0-9]*))")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
# Whole numbers outside these bounds become floating point numbers in the original, and so they do here.
_SMALLEST, _LARGEST = -(2**63), 2**64 - 1
# A longer number is never meant, and int() refuses more than 4300 digits.
_LONGEST_NUMBER = 400


def resolve(text: str) -> Plain:
    """Return the value of a scalar that was written without quotes and without a tag."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "+-.0123456789" or len(text) > _LONGEST_NUMBER:
        return text
    digits = text if text[0] == "." else text.replace("_", "")
    whole = whole_number(digits)
    if whole is not None and _SMALLEST <= whole <= _LARGEST:
        return whole
    if _FLOAT.fullmatch(digits):
        number = float(digits)
        # Go's reader refuses what overflows and so keeps it as text.
        return text if math.isinf(number) else number
    return text


def is_yaml11_boolean(text: str) -> bool:
    """Whether a plain scalar is a boolean for YAML 1.1 only: `yes`, `off`, `n` and the like."""
    return isinstance(_WORDS.get(text), bool) and text not in _MODERN_BOOLEANS


def whole_number(digits: str) -> int | None:
    """Read a whole number with the prefixes of Go: 0x, 0b, 0o, and 0 for octal. None when it is none."""
    match = _INTEGER.fullmatch(digits)
    if match is None:
        return None
    sign, *texts = match.groups()
    number = next(int(text, base) for text, base in zip(texts, (16, 2, 8, 10), strict=True) if text is not None)
    return -number if sign == "-" else number
