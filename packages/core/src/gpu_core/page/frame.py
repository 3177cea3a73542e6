"""The frame of every page: title, state, sections, foot; and the parts that several pages have. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from gpu_core.page.markup import Child, Markup, el, join, raw
from gpu_core.page.style import STYLE
from gpu_core.runtime.probes import Check, all_ok

_MINUTE = 60.0
_HOUR = 3600.0
_DAY = 86400.0

LINKS = (("/metrics", "metrics"), ("/readyz", "readiness"), ("/healthz", "liveness"), ("/status.json", "JSON"))


def page(*, title: str, about: str, checks: tuple[Check, ...], sections: Iterable[Child], foot: str) -> str:
    """Return a whole document."""
    ok = all_ok(checks)
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("title", title),
        el("style", raw(STYLE)),
    )
    links = [join(" · ", el("a", word, href=path)) for path, word in LINKS]
    body = el(
        "body",
        el("div", el("h1", title), badge("ready" if ok else "not ready", good=ok), class_="head"),
        el("p", about, class_="faint"),
        el("main", *sections),
        el("footer", foot, *links),
    )
    return f"<!DOCTYPE html>\n{el('html', head, body, lang='en')}\n"


def section(title: str, *children: Child) -> Markup:
    """Return a part of a page under its heading."""
    return el("section", el("h2", title), *children)


def badge(word: str, *, good: bool) -> Markup:
    """Return a word in the colour of good or bad news."""
    return el("span", word, class_=f"badge {'good' if good else 'bad'}")


def checks_section(checks: Iterable[Check]) -> Markup:
    """Return what the program needs to be ready, and why what is missing is missing."""
    lines = [
        el(
            "li",
            badge("ok" if check.ok else "no", good=check.ok),
            el("span", el("strong", check.name), f" {check.reason}"),
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
