"""Log lines laid out for people: what is long or has parts stands below its line, indented. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import Any

_INDENT = "    "


def plain(value: Any) -> Any:
    """Return a value as JSON knows values: what is no number, list or mapping becomes the text that people write."""
    match value:
        case Enum():
            return plain(value.value)
        case bool() | int() | float() | str() | None:
            return value
        case Mapping():
            return {str(plain(key)): plain(inner) for key, inner in value.items()}
        case list() | tuple():
            return [plain(item) for item in value]
        case set() | frozenset():
            return sorted((plain(item) for item in value), key=str)
    return str(value)


def is_block(value: Any) -> bool:
    """Whether a plain value is too large for the line of its event: a mapping, or a text of several lines."""
    return isinstance(value, Mapping) or (isinstance(value, str) and "\n" in value)


def block(value: Any) -> str:
    """Return a plain mapping or a text as indented lines. What is not set, or empty, is left out of a mapping."""
    lines = list(_lines(value)) if isinstance(value, Mapping) else str(value).splitlines()
    return "\n".join(f"{_INDENT}{line}" for line in lines)


def _lines(mapping: Mapping[str, Any]) -> Iterator[str]:
    for key, value in mapping.items():
        if value is None or value in ("", [], {}):
            continue
        if isinstance(value, Mapping):
            inner = list(_lines(value))
            if inner:
                yield f"{key}:"
                yield from (f"  {line}" for line in inner)
        elif _holds_mappings(value):
            yield f"{key}:"
            yield from (f"  - {_short(item)}" for item in value)
        else:
            yield f"{key}: {_short(value)}"


def _holds_mappings(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str) and any(isinstance(one, Mapping) for one in value)


def _short(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case Mapping():
            return ", ".join(f"{key}: {_short(inner)}" for key, inner in value.items())
        case list():
            return ", ".join(map(_short, value))
    return str(value)
