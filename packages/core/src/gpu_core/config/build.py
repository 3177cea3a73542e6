"""A merged layer to the frozen dataclasses that programs use; what no layer gives keeps the model's default.

Words must have been judged before: here, one that does not exist becomes the default, which can only happen to a key
that the program does not obey.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from gpu_core.config.layers import Entry, KeyPath, Layer, below
from gpu_core.config.model import Config
from gpu_core.config.programs.options import Option
from gpu_core.config.shape import Form, Leaf, Section, Words, shape

S = TypeVar("S")


def build_config(layer: Layer) -> Config:
    """Return the configuration that a layer describes."""
    config: Config = _section(layer, shape(), ())
    return config


def build_settings(layer: Layer, options: Sequence[Option], settings: type[S]) -> S:
    """Return the settings that a layer describes."""
    given = {}
    for option in options:
        if option.key is None and option.path in layer:
            given[option.attribute] = _setting(layer[option.path].value, option)
    return settings(**given)


def is_word(words: Words, text: str) -> bool:
    """Whether a text is one of the words."""
    return text in {word.value for word in words}


def _section(layer: Layer, section: Section, path: KeyPath) -> Any:
    arguments: dict[str, Any] = {}
    for member in section.members:
        inner = (*path, member.key.name)
        if isinstance(member, Leaf):
            if inner in layer:
                arguments[member.attribute] = _leaf(layer[inner].value, member)
        elif member.repeated:
            if inner in layer:
                arguments[member.attribute] = tuple(_entry(entry, member) for entry in layer[inner].value)
        elif not member.optional or below(layer, inner):
            arguments[member.attribute] = _section(layer, member, inner)
    return section.model(**arguments)


def _entry(entry: Entry, section: Section) -> Any:
    return section.model(
        **{
            member.attribute: _leaf(entry[member.key.name], member)
            for member in section.members
            if isinstance(member, Leaf) and member.key.name in entry
        }
    )


def _leaf(value: Any, leaf: Leaf) -> Any:
    if leaf.words is None:
        return value
    if leaf.form is Form.WORD:
        return leaf.words(value) if is_word(leaf.words, value) else leaf.default
    known = all(is_word(leaf.words, word) for word in value)
    return tuple(leaf.words(word) for word in value) if known else leaf.default


def _setting(value: Any, option: Option) -> Any:
    if option.words is None:
        return value
    if option.form is Form.WORD:
        return option.words(value) if value else option.default
    return tuple(option.words(word) for word in value if word)
