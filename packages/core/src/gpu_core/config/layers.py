"""Layers of configuration: what each source gives, with where it came from, and their union.

A layer maps the path of a key to a value and its origin. Later layers win key by key, so layering is the union of
mappings: associative, with the empty layer as its neutral element.

Values in a layer have the right type but are not yet judged: words are text, lists are tuples, durations are
`Duration`, and the entries of a list are mappings from key names to such values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

KeyPath = tuple[str, ...]
Entry = Mapping[str, Any]


def dotted(path: tuple[str | int, ...]) -> str:
    """Write a path as people do: `sharing.mps.resources[0].name`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def key_path(text: str) -> KeyPath:
    """Read a path of names without list positions: `flags.plugin.deviceIDStrategy`."""
    return tuple(text.split("."))


class Source(StrEnum):
    """The kinds of places that a value can come from, weakest first."""

    DEFAULT = "default"
    FILE = "file"
    ENVIRONMENT = "environment"
    FLAG = "flag"


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """A place in a file; line and column count from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a value came from. `name` is the variable or the flag, `position` the place in the file."""

    source: Source
    name: str = ""
    position: Position | None = None

    def __str__(self) -> str:
        if self.position is not None:
            return f"file {self.position}"
        return f"{self.source} {self.name}" if self.name else str(self.source)


DEFAULT_ORIGIN = Origin(source=Source.DEFAULT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """A value that some source gave."""

    value: Any
    origin: Origin


Layer = Mapping[KeyPath, Given]


def union(*layers: Layer) -> Layer:
    """Lay layers over each other; the later wins."""
    result: dict[KeyPath, Given] = {}
    for layer in layers:
        result |= layer
    return result


def below(layer: Layer, section: KeyPath) -> bool:
    """Whether the layer gives anything inside a section."""
    return any(path[: len(section)] == section for path in layer)
