"""A parsed config file to a layer, with everything that is wrong with it found in one go."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

from gpu_core.config.file.document import Mapping, Member, Node, Scalar, Sequence, UnreadableError, read_document
from gpu_core.config.file.scalars import is_yaml11_boolean
from gpu_core.config.file.suggest import suggestion
from gpu_core.config.file.values import describe, read_value
from gpu_core.config.keys import Constraint
from gpu_core.config.layers import Given, KeyPath, Layer, Origin, Position, Source, dotted
from gpu_core.config.problems import Problem, Problems, shortened
from gpu_core.config.shape import Form, Leaf, Section, shape

Location = tuple[str | int, ...]
"""Where something stands in a document: the keys, and the numbers in lists, that lead to it."""

# A null section counts as absent; only this one is a value of its own in the original and then lacks its resources.
_NULL_IS_EMPTY = (("sharing", "timeSlicing"),)

_MOST_SUGGESTIONS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoded:
    """What a file gives. `positions` holds where each key and each entry of a list stands."""

    layer: Layer
    problems: Problems
    positions: dict[Location, Position]


def decode(root: Node | None) -> Decoded:
    """Read a document's root into a layer."""
    walk = _Walk()
    if isinstance(root, Mapping):
        walk.section(root, shape(), ())
    elif root is not None and not _is_null(root):
        walk.error(root.position, (), f"expected a mapping with keys such as flags, found {describe(root)}")
    problems = Problems(tuple(walk.problems)).in_file_order()
    return Decoded(layer=walk.layer, problems=problems, positions=walk.positions)


@dataclass(slots=True)
class _Walk:
    layer: dict[KeyPath, Given] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    positions: dict[Location, Position] = field(default_factory=dict)

    def section(self, node: Mapping, section: Section, path: KeyPath) -> None:
        """Read a mapping whose keys become paths of the layer."""
        for member, known in self._known(node, section, path):
            inner = (*path, known.key.name)
            self.positions[inner] = member.position
            if isinstance(known, Leaf):
                self._leaf(member, known, inner)
            elif known.repeated:
                self._entries(member, known, inner)
            else:
                self._subsection(member, known, inner)

    def _subsection(self, member: Member, section: Section, path: KeyPath) -> None:
        value = member.value
        if _is_null(value) and path not in _NULL_IS_EMPTY:
            self._forget(path)
        elif isinstance(value, Mapping):
            self.section(value, section, path)
            self._require(value, section, path)
        elif _is_null(value):
            self.error(member.position, path, "no resources are given; list at least one, or remove the key")
        else:
            self.error(value.position, path, f"expected a mapping, found {describe(value)}")

    def _require(self, node: Mapping, section: Section, path: KeyPath) -> None:
        names = {member.key for member in node.members}
        for known in section.members:
            if known.key.constraint is Constraint.NOT_EMPTY and known.key.name not in names:
                self.error(node.position, path, "no resources are given; list at least one, or remove the key")

    def _leaf(self, member: Member, leaf: Leaf, path: KeyPath) -> None:
        # An empty version means the only one there is.
        if _is_null(member.value) or (leaf.key.constraint is Constraint.VERSION and _is_empty_text(member.value)):
            self._forget(path)
            return
        try:
            value = read_value(member.value, leaf)
        except ValueError as error:
            self.error(member.value.position, path, str(error))
            return
        self._warn_of_yaml11(member.value, leaf, path)
        self.layer[path] = Given(value=value, origin=_origin(member))

    def _entries(self, member: Member, section: Section, path: KeyPath) -> None:
        value = member.value
        needed = section.key.constraint is Constraint.NOT_EMPTY
        if _is_null(value) and not needed:
            self._forget(path)
            return
        if needed and (_is_null(value) or (isinstance(value, Sequence) and not value.items)):
            self.error(value.position, path, "no resources are given; list at least one, or remove the section")
            return
        if not isinstance(value, Sequence):
            self.error(value.position, path, f"expected a list, found {describe(value)}")
            return
        entries = [self._entry(item, section, (*path, index)) for index, item in enumerate(value.items)]
        self.layer[path] = Given(value=tuple(entries), origin=_origin(member))

    def _entry(self, node: Node, section: Section, path: Location) -> dict[str, Any]:
        self.positions[path] = node.position
        if not isinstance(node, Mapping):
            self.error(node.position, path, f"expected a mapping, found {describe(node)}")
            return {}
        entry: dict[str, Any] = {}
        present = set()
        for member, known in self._known(node, section, path):
            inner = (*path, known.key.name)
            self.positions[inner] = member.position
            present.add(known.key.name)
            leaf = cast("Leaf", known)  # Entries hold no sections, which `shape` sees to.
            if _is_null(member.value) and leaf.key.ours:
                continue
            if _is_null(member.value) and leaf.form is Form.TEXT and leaf.key.constraint is Constraint.NONE:
                entry[known.key.name] = ""  # The original's reading of an empty pattern.
                continue
            try:
                entry[known.key.name] = read_value(member.value, leaf)
            except ValueError as error:
                self.error(member.value.position, inner, str(error))
            else:
                self._warn_of_yaml11(member.value, leaf, inner)
        for known in section.members:
            if isinstance(known, Leaf) and known.required and known.key.name not in present:
                self.error(node.position, path, f"the key {known.key.name} is missing")
        return entry

    def _known(self, node: Mapping, section: Section, path: Location) -> list[tuple[Member, Leaf | Section]]:
        """Return the members that count, in the order in which the original applies them."""
        last: dict[str, Member] = {}
        for member in node.members:
            if member.key in last and not (last[member.key].merged or member.merged):
                line = last[member.key].position.line
                self._warn(
                    member.position,
                    (*path, shortened(member.key)),
                    f"this key is also on line {line}; the last one counts",
                )
            last[member.key] = member
        known = []
        # The original turns the file into JSON with sorted keys, so that of two spellings the last in byte order wins.
        for name in sorted(last):
            member = last[name]
            found = section.member(name) or (None if section.exact else _without_case(name, section))
            if found is None:
                # Looking for what was meant takes time that a file of nonsense must not add up.
                hint = suggestion(name, section, _names(path)) if len(self.problems) < _MOST_SUGGESTIONS else ""
                self._warn(member.position, (*path, shortened(name)), f"unknown key{hint}")
                continue
            if found.key.name != name:
                message = f"is read as {found.key.name}; write it so"
                self._warn(member.position, (*path, name), message, harmless=True)
            known.append((member, found))
        return known

    def _warn_of_yaml11(self, node: Node, leaf: Leaf, path: Location) -> None:
        if leaf.form is Form.BOOLEAN and isinstance(node, Scalar) and node.plain and is_yaml11_boolean(node.text):
            word = "true" if node.value else "false"
            self._warn(node.position, path, f"{node.text} is a boolean in YAML 1.1 only; write {word}")

    def _forget(self, path: KeyPath) -> None:
        """Take back what another spelling of the same key gave."""
        for given in [given for given in self.layer if given[: len(path)] == path]:
            del self.layer[given]

    def error(self, position: Position, path: Location, message: str) -> None:
        self.problems.append(Problem(message=message, where=dotted(path), position=position))

    def _warn(self, position: Position, path: Location, message: str, *, harmless: bool = False) -> None:
        self.problems.append(
            Problem(message=message, where=dotted(path), position=position, fatal=False, harmless=harmless)
        )


def _origin(member: Member) -> Origin:
    return Origin(source=Source.FILE, position=member.position)


def _is_null(node: Node) -> bool:
    return isinstance(node, Scalar) and node.value is None


def _is_empty_text(node: Node) -> bool:
    return isinstance(node, Scalar) and node.value == ""


def _names(path: Location) -> KeyPath:
    return tuple(part for part in path if isinstance(part, str))


def _without_case(name: str, section: Section) -> Leaf | Section | None:
    folded = name.casefold()
    return next((member for member in section.members if member.key.name.casefold() == folded), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """A file as a layer. `positions` tells where its keys and list entries stand."""

    layer: Layer = field(default_factory=dict)
    problems: Problems = field(default_factory=Problems)
    positions: dict[Location, Position] = field(default_factory=dict)


def parse_text(text: str | bytes, file: str) -> Parsed:
    """Read a config file's text. Never raises: what is wrong is in `problems`."""
    data = text.encode() if isinstance(text, str) else text
    try:
        root, more = read_document(data, file)
    except UnreadableError as error:
        return Parsed(problems=Problems((error.problem,)))
    decoded: Decoded = decode(root)
    problems = decoded.problems
    if more:
        message = "the file holds several documents; only the first counts"
        problems += (Problem(message=message, fatal=False, position=Position(file=file, line=1, column=1)),)
    return Parsed(layer=decoded.layer, problems=problems, positions=decoded.positions)
