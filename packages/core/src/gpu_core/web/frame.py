"""The frame of every page: title, state, sections, foot; and the parts that several pages have. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime

from gpu_core.runtime.probes import Check, all_ok
from gpu_core.web.markup import Child, Markup, el, join, raw
from gpu_core.web.style import STYLE

_MINUTE = 60.0
_HOUR = 3600.0
_DAY = 86400.0

REFRESH = 30
"""Seconds after which a browser looks again by itself."""

_UNBROKEN = 32
"""Letters of the longest name that is never broken: so many fit on the narrowest phone."""

_RESOURCE = re.compile(r"(nvidia\.com/[A-Za-z0-9][A-Za-z0-9._-]*[A-Za-z0-9])")

LINKS = (("/metrics", "metrics"), ("/readyz", "readiness"), ("/healthz", "liveness"), ("/status.json", "JSON"))


def page(
    *,
    title: str,
    about: str,
    checks: tuple[Check, ...],
    sections: Iterable[Child],
    headline: str = "",
    concern: bool = False,
) -> str:
    """Return a whole document.

    `headline` is what counts most: it opens page and title instead of the title alone. With `concern` it is no good
    news, and readiness is not shown as such either.
    """
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", http_equiv="refresh", content=str(REFRESH)),
        el("title", f"{headline} - {title}" if headline else title),
        el("style", raw(STYLE)),
    )
    links = [join(" · ", el("a", word, href=path)) for path, word in LINKS]
    if headline:
        head_line, about = el("h1", headline, class_="bad" if concern else None), f"{title}. {about}"
    else:
        head_line = el("h1", title)
    body = el(
        "body",
        el("div", head_line, _readiness(checks, concern=concern), class_="head"),
        el("p", about, class_="faint"),
        el("main", *sections),
        el("footer", f"The page looks again every {REFRESH} seconds.", *links),
    )
    return f"<!DOCTYPE html>\n{el('html', head, body, lang='en')}\n"


def section(title: str, *children: Child) -> Markup:
    """Return a part of a page under its heading."""
    return el("section", el("h2", title), *children)


def badge(word: str, *, good: bool) -> Markup:
    """Return a word in the colour of good or bad news."""
    return el("span", word, class_=f"badge {'good' if good else 'bad'}")


def warning_badge(word: str) -> Markup:
    """Return a word in the colour of what works and wants to be looked at all the same."""
    return el("span", word, class_="badge warn")


def named(name: str) -> Markup:
    """Return a name that is not broken at the end of a line, unless it is too long for a phone."""
    return el("span", name, class_="name" if len(name) <= _UNBROKEN else "name long")


def prose(text: str) -> Markup:
    """Return a text in which the names of resources are not broken."""
    return join(*(named(part) if place % 2 else part for place, part in enumerate(_RESOURCE.split(text))))


def _readiness(checks: tuple[Check, ...], *, concern: bool) -> Markup:
    if not all_ok(checks):
        return badge("not ready", good=False)
    if concern or any(check.concern for check in checks):
        return warning_badge("ready")
    return badge("ready", good=True)


def checks_section(checks: Iterable[Check]) -> Markup:
    """Return what the program needs to be ready, and why what is missing is missing."""
    lines = [
        el(
            "li",
            warning_badge("look") if check.ok and check.concern else badge("ok" if check.ok else "no", good=check.ok),
            el("span", el("strong", named(check.name)), " ", prose(check.reason)),
        )
        for check in checks
    ]
    return section("Readiness", el("ul", *lines, class_="checks card"))


def facts(pairs: Iterable[tuple[str, Child]]) -> Markup:
    """Return names with their values; those without a value are left out."""
    return el("dl", *(join(el("dt", name), el("dd", value)) for name, value in pairs if value))


def table(columns: Iterable[str], rows: Iterable[Iterable[Child]]) -> Markup:
    """Return a table that becomes a list of blocks on a narrow screen."""
    names = tuple(columns)
    body = [el("tr", *(el("td", cell, data_label=name) for name, cell in zip(names, row, strict=True))) for row in rows]
    return el(
        "div",
        el("table", el("thead", el("tr", *(el("th", name) for name in names))), el("tbody", *body), class_="stack"),
        class_="card",
    )


def code_section(title: str, about: str, code: str) -> Markup:
    """Return a longer text as it is, folded away."""
    return section(title, el("details", el("summary", about), el("pre", code, class_="mono"), class_="card"))


def moment(seconds: float) -> str:
    """Return a point in time, given in seconds since 1970, as a person reads it."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def ago(seconds: float) -> str:
    """Return how long something lasts, roughly."""
    for unit, word in ((_DAY, "d"), (_HOUR, "h"), (_MINUTE, "min")):
        if seconds >= 2 * unit:
            return f"{seconds / unit:.0f} {word}"
    return f"{max(0.0, seconds):.0f} s"
