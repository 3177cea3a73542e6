"""What the model's dataclasses say about the config file: which keys exist where, and of which form each is.

Everything that is generated from the model (decoding, the effective document, the JSON Schema, the reference page)
starts from the `Section` returned by `shape()`.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Iterator
from dataclasses import MISSING, dataclass, fields
from enum import StrEnum
from functools import cache
from typing import Any

from gpu_core.config.duration import Duration
from gpu_core.config.keys import Key
from gpu_core.config.layers import KeyPath
from gpu_core.config.model import Config
from gpu_core.config.sharing import DeviceRefs

Words = type[StrEnum]


class Form(StrEnum):
    """The forms of a value."""

    TEXT = "text"
    BOOLEAN = "true or false"
    INTEGER = "whole number"
    NUMBER = "number"
    DURATION = "duration"
    WORD = "word"
    WORDS = "word or list of words"
    TEXTS = "list of texts"
    INTEGERS = "list of whole numbers"
    DEVICES = "`all`, a count, or a list of devices"


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    """A key with a single value or a list of such. `words` are the words allowed, where the form has words."""

    attribute: str
    key: Key
    form: Form
    words: Words | None
    default: Any
    required: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A mapping of keys.

    `optional` sections are None in the model unless the file has them; `exact` ones tell keys apart by case. `repeated`
    sections are the entries of a list.
    """

    attribute: str
    key: Key
    model: type[Any]
    members: tuple[Leaf | Section, ...]
    optional: bool = False
    exact: bool = False
    repeated: bool = False

    def member(self, name: str) -> Leaf | Section | None:
        """Return the member of that key name, if there is one."""
        return next((member for member in self.members if member.key.name == name), None)


@cache
def shape() -> Section:
    """Return the shape of the whole file."""
    top = Key(name="", doc="The configuration.")
    return Section(attribute="", key=top, model=Config, members=members_of(Config))


def leaves(section: Section, prefix: KeyPath = ()) -> Iterator[tuple[KeyPath, Leaf | Section]]:
    """Yield every key that a layer can give, with its path: leaves, and lists of entries as a whole."""
    for member in section.members:
        path = (*prefix, member.key.name)
        if isinstance(member, Section) and not member.repeated:
            yield from leaves(member, path)
        else:
            yield path, member


@cache
def at(path: KeyPath) -> Leaf | Section:
    """Return what a path names; KeyError when the model has no such key."""
    found: Leaf | Section = shape()
    for name in path:
        inner = found.member(name) if isinstance(found, Section) else None
        if inner is None:
            raise KeyError(".".join(path))
        found = inner
    return found


def members_of(model: type[Any], *, exact: bool = False) -> tuple[Leaf | Section, ...]:
    """Return the keys that a dataclass of the model declares; `exact` when the section around it is."""
    hints = typing.get_type_hints(model)
    members: list[Leaf | Section] = []
    for field in fields(model):
        key: Key = field.metadata["key"]
        hint = hints[field.name]
        optional = hint is not DeviceRefs and type(None) in typing.get_args(hint)
        bare = _without_none(hint) if optional else hint
        exact_here = exact or key.exact
        items = typing.get_args(bare)[0] if typing.get_origin(bare) is tuple else None
        nested = items if _is_model(items) else bare if _is_model(bare) else None
        if nested is not None:
            inner = members_of(nested, exact=exact_here)
            if items is not None and not all(isinstance(member, Leaf) for member in inner):
                raise TypeError(f"the entries of {key.name} hold sections, which no layer can hold")
            members.append(
                Section(
                    attribute=field.name,
                    key=key,
                    model=nested,
                    members=inner,
                    optional=optional,
                    exact=exact_here,
                    repeated=items is not None,
                )
            )
            continue
        form, words = _form(bare, items)
        required = field.default is MISSING
        default = None if required else field.default
        members.append(Leaf(attribute=field.name, key=key, form=form, words=words, default=default, required=required))
    return tuple(members)


def _without_none(hint: Any) -> Any:
    kept = [part for part in typing.get_args(hint) if part is not types.NoneType]
    return kept[0]


def _is_model(hint: Any) -> bool:
    return isinstance(hint, type) and hasattr(hint, "__dataclass_fields__") and hint is not Duration


_FORMS: dict[Any, Form] = {
    str: Form.TEXT,
    bool: Form.BOOLEAN,
    int: Form.INTEGER,
    float: Form.NUMBER,
    Duration: Form.DURATION,
}
_LIST_FORMS: dict[Any, Form] = {str: Form.TEXTS, int: Form.INTEGERS}


def _form(hint: Any, items: Any) -> tuple[Form, Words | None]:
    if hint is DeviceRefs or hint == DeviceRefs:
        return Form.DEVICES, None
    if isinstance(items, type) and issubclass(items, StrEnum):
        return Form.WORDS, items
    if items is not None:
        return _LIST_FORMS[items], None
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return Form.WORD, hint
    return _FORMS[hint], None
