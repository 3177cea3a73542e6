"""HTML and SVG as nested elements, escaped by construction. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

_VOID = frozenset({"meta", "br", "rect", "line"})
"""Elements without content. SVG's are closed in the way that HTML parsers accept too."""


class Markup(str):
    """Text that is markup already; every other text is escaped."""

    __slots__ = ()


Child = str | None
"""What an element may hold: markup, text, or nothing where there is none."""


def el(tag: str, /, *children: Child, **attributes: str | float | None) -> Markup:
    """Return an element.

    An attribute whose name is a word of Python takes an underscore at its end (`class_`), inner underscores become
    dashes, and None leaves it away.
    """
    inner = "".join(_escaped(child) for child in children if child is not None)
    written = "".join(_attributes(attributes))
    return Markup(f"<{tag}{written}/>" if tag in _VOID else f"<{tag}{written}>{inner}</{tag}>")


def join(*children: Child) -> Markup:
    """Return several pieces one after another, without an element around them."""
    return Markup("".join(_escaped(child) for child in children if child is not None))


def raw(text: str) -> Markup:
    """Return a text that is written here, in the source, and needs no escaping."""
    return Markup(text)


def _escaped(child: str) -> str:
    return child if isinstance(child, Markup) else escape(child)


def _attributes(attributes: dict[str, str | float | None]) -> Iterator[str]:
    for name, value in attributes.items():
        if value is not None:
            yield f' {name.rstrip("_").replace("_", "-")}="{escape(str(value))}"'
