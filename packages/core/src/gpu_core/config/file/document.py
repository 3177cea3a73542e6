"""YAML or JSON bytes to a tree of nodes that know their places, within fixed bounds of time and memory.

libyaml parses, we build: its events never recurse, aliases stay references, and every node knows how large it would be
with all aliases written out, so that neither a deep document nor one made of aliases to aliases costs more than its
bytes. Of several documents in a file the first counts, as in the original.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import cast

import yaml

from gpu_core.config.file.scalars import Plain, resolve
from gpu_core.config.layers import Position
from gpu_core.config.problems import Problem, shortened

MAX_BYTES = 4 * 1024 * 1024
MAX_DEPTH = 64
MAX_NODES = 100_000

_TEXT_TAG = "tag:yaml.org,2002:str"
_CORE_TAGS = {
    "tag:yaml.org,2002:null": type(None),
    "tag:yaml.org,2002:bool": bool,
    "tag:yaml.org,2002:int": int,
    "tag:yaml.org,2002:float": float,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Scalar:
    """A single value. `text` is how it is written; `plain` that it has no quotes and no tag."""

    value: Plain
    text: str
    plain: bool
    position: Position
    size: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Sequence:
    """A list."""

    items: tuple[Node, ...]
    position: Position
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A key of a mapping with its value. `merged` tells that it came through `<<`."""

    key: str
    position: Position
    value: Node
    merged: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Mapping:
    """A mapping, in the order of the file, duplicates included: the last of equal keys counts."""

    members: tuple[Member, ...]
    position: Position
    size: int


Node = Scalar | Sequence | Mapping


class UnreadableError(Exception):
    """The bytes are no usable YAML; `problem` says why and where."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(str(problem))
        self.problem = problem


@dataclass(slots=True)
class _Open:
    """A collection whose end has not been read yet."""

    position: Position
    anchor: str | None
    is_mapping: bool
    nodes: list[Node] = field(default_factory=list)
    size: int = 1


def read_document(data: bytes, file: str) -> tuple[Node | None, bool]:
    """Parse the first document; return its root (None without one) and whether more documents follow.

    Raises UnreadableError.
    """
    if len(data) > MAX_BYTES:
        raise _unreadable(
            f"the file has {len(data)} bytes and {MAX_BYTES} are the limit; a ConfigMap cannot hold more than 1 MiB",
            Position(file=file, line=1, column=1),
        )
    builder = _Builder(file=file)
    try:
        events = iter(yaml.parse(data, Loader=yaml.CSafeLoader))
        root = builder.first_document(events)
        end = next(events, None)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        position = Position(file=file, line=mark.line + 1, column=mark.column + 1) if mark else None
        raise _unreadable(f"this is no YAML: {_because(error)}", position) from error
    except yaml.reader.ReaderError as error:
        place = _place_of_byte(data, error.position, file)
        raise _unreadable(f"this is no YAML: {error.reason}; a config file is UTF-8 text", place) from error
    return root, isinstance(end, yaml.DocumentEndEvent) and _more_follows(events)


def _place_of_byte(data: bytes, offset: int, file: str) -> Position:
    before = data[:offset]
    line = before[before.rfind(b"\n") + 1 :]
    return Position(file=file, line=before.count(b"\n") + 1, column=len(line.decode(errors="replace")) + 1)


def _more_follows(events: Iterator[yaml.Event]) -> bool:
    try:
        return isinstance(next(events, None), yaml.DocumentStartEvent)
    except yaml.YAMLError:
        return True  # What follows is broken, and as unread as a sound document would be.


def _because(error: yaml.MarkedYAMLError) -> str:
    reason = " ".join(part for part in (error.context, error.problem) if part)
    return f"{reason} (YAML indents with blanks)" if "cannot start any token" in reason else reason


def _unreadable(message: str, position: Position | None) -> UnreadableError:
    return UnreadableError(Problem(message=message, position=position))


@dataclass(slots=True)
class _Builder:
    """Builds nodes from events, without recursion."""

    file: str
    stack: list[_Open] = field(default_factory=list)
    anchors: dict[str, Node] = field(default_factory=dict)

    def first_document(self, events: Iterator[yaml.Event]) -> Node | None:
        for event in events:
            node = self._take(event)
            if node is None:
                continue
            if not self.stack:
                return node
            parent = self.stack[-1]
            parent.nodes.append(node)
            parent.size += node.size
            if parent.size > MAX_NODES:
                raise _unreadable(
                    f"the file holds more than {MAX_NODES} values, counting what its aliases repeat", node.position
                )
        return None

    def _take(self, event: yaml.Event) -> Node | None:
        """Return the node that an event completes, if any."""
        position = self._position(event)
        match event:
            case yaml.MappingStartEvent() | yaml.SequenceStartEvent():
                if len(self.stack) >= MAX_DEPTH:
                    raise _unreadable(f"values are nested more than {MAX_DEPTH} deep", position)
                is_mapping = isinstance(event, yaml.MappingStartEvent)
                self.stack.append(_Open(position=position, anchor=event.anchor, is_mapping=is_mapping))
                return None
            case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                opened = self.stack.pop()
                node = _mapping(opened) if opened.is_mapping else _sequence(opened)
                return self._name(opened.anchor, node)
            case yaml.ScalarEvent():
                return self._name(event.anchor, _scalar(event, position))
            case yaml.AliasEvent():
                return self._alias(event.anchor or "", position)
            case _:
                return None

    def _alias(self, anchor: str, position: Position) -> Node:
        if any(opened.anchor == anchor for opened in self.stack):
            raise _unreadable(f"the anchor &{shortened(anchor)} contains itself", position)
        if anchor not in self.anchors:
            raise _unreadable(f"the alias *{shortened(anchor)} names no anchor above it", position)
        return self.anchors[anchor]

    def _name(self, anchor: str | None, node: Node) -> Node:
        if anchor is not None:
            self.anchors[anchor] = node
        return node

    def _position(self, event: yaml.Event) -> Position:
        mark = cast("yaml.Mark", event.start_mark)  # libyaml gives every event a place.
        return Position(file=self.file, line=mark.line + 1, column=mark.column + 1)


def _scalar(event: yaml.ScalarEvent, position: Position) -> Scalar:
    plain = bool(event.implicit[0])
    value: Plain = resolve(event.value) if plain else event.value
    if not plain and event.tag in _CORE_TAGS:
        value = resolve(event.value)
        wanted = _CORE_TAGS[event.tag]
        if wanted is float and type(value) is int:
            value = float(value)
        if type(value) is not wanted:
            raise _unreadable(f"{shortened(event.value)!r} is no !!{event.tag.rpartition(':')[2]}", position)
    if isinstance(value, float) and not math.isfinite(value):
        raise _unreadable(f"{event.value} is no number that a configuration can hold", position)
    return Scalar(value=value, text=event.value, plain=plain, position=position)


def _sequence(opened: _Open) -> Sequence:
    return Sequence(items=tuple(opened.nodes), position=opened.position, size=opened.size)


def _mapping(opened: _Open) -> Mapping:
    members: list[Member] = []
    for name, value in zip(opened.nodes[::2], opened.nodes[1::2], strict=True):
        if not isinstance(name, Scalar):
            raise _unreadable("a key must be a single value", name.position)
        if name.plain and name.text == "<<":
            members.extend(_merged(value))
        else:
            members.append(Member(key=name.text, position=name.position, value=value))
    return Mapping(members=tuple(members), position=opened.position, size=opened.size)


def _merged(node: Node) -> Iterator[Member]:
    """Return what `<<` brings in. Of a list of mappings the earlier wins, so that it must come last."""
    sources = reversed(node.items) if isinstance(node, Sequence) else (node,)
    for source in sources:
        if not isinstance(source, Mapping):
            raise _unreadable("<< needs a mapping or a list of mappings", source.position)
        for member in source.members:
            yield Member(key=member.key, position=member.position, value=member.value, merged=True)
