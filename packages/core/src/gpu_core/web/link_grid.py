"""The ways between a node's GPUs as a grid: the darker a field, the closer the two. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from gpu_core.devices.link_words import legend, link_word
from gpu_core.devices.model import LinkLevel, PairLink
from gpu_core.web.markup import Markup, el

_CELL = 40
_AXIS = 46

_SHADES = {
    LinkLevel.INTERNAL: 1,
    LinkLevel.SINGLE: 1,
    LinkLevel.MULTIPLE: 2,
    LinkLevel.HOSTBRIDGE: 3,
    LinkLevel.NODE: 4,
    LinkLevel.SYSTEM: 5,
}
_LIGHT_TEXT = 2
"""Up to this shade the text is light in daylight; at night all of it is."""


def links_grid(indices: Sequence[int], links: Sequence[Sequence[PairLink]]) -> Markup:
    """Return the grid as SVG with a legend; `indices` number the GPUs, and `links` is by position."""
    size = _AXIS + _CELL * len(indices)
    axis = [
        part
        for place, index in enumerate(indices)
        for part in (
            _text(_AXIS + _CELL * place + _CELL / 2, _AXIS / 2, str(index), "axis"),
            _text(_AXIS / 2, _AXIS + _CELL * place + _CELL / 2, f"GPU {index}", "axis"),
        )
    ]
    fields = [
        part
        for a, row in enumerate(links)
        for b, link in enumerate(row)
        if a != b
        for part in _field(a, b, link, f"GPU {indices[a]} to GPU {indices[b]}")
    ]
    svg = el(
        "svg",
        *axis,
        *fields,
        viewBox=f"0 0 {size} {size}",
        width=size,
        height=size,
        role="img",
        aria_label="Links between GPUs",
    )
    return el("div", el("div", svg, class_="scroll"), _legend(links), class_="card")


def _field(a: int, b: int, link: PairLink, title: str) -> tuple[Markup, Markup]:
    word = link_word(link)
    shade = _shade(link)
    x, y = _AXIS + _CELL * b, _AXIS + _CELL * a
    dark = "on-dark" if shade is not None and shade <= _LIGHT_TEXT else None
    return (
        el(
            "g",
            el("title", f"{title}: {word}"),
            el("rect", x=x, y=y, width=_CELL, height=_CELL, rx=5, class_=_class(shade)),
        ),
        _text(x + _CELL / 2, y + _CELL / 2, word, dark),
    )


def _shade(link: PairLink) -> int | None:
    if link.joined_by:
        return 0
    return None if link.level is None else _SHADES[link.level]


def _class(shade: int | None) -> str:
    return "near-unknown" if shade is None else f"near-{shade}"


def _text(x: float, y: float, text: str, class_: str | None) -> Markup:
    return el("text", text, x=f"{x:g}", y=f"{y:g}", class_=class_)


def _legend(links: Sequence[Sequence[PairLink]]) -> Markup:
    ways = (link for a, row in enumerate(links) for b, link in enumerate(row) if a != b)
    lines = [el("span", el("strong", word), f" {meaning}") for word, meaning in legend(ways)]
    return el("p", *lines, class_="legend small faint")
