"""The page of a program that has no devices of its own to show: its readiness, a few facts, its tables. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gpu_core.runtime.probes import Check
from gpu_core.web.frame import checks_section, code_section, facts, moment, page, section, table
from gpu_core.web.markup import el


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramView:
    """What is to be shown. `now` is in seconds since 1970; `tables` have a title each, with names and values.

    `config` is the configuration in use as text, empty where the program has none.
    """

    title: str
    version: str
    node: str
    now: float
    checks: tuple[Check, ...]
    facts: tuple[tuple[str, str], ...] = ()
    tables: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    config_name: str = ""
    config: str = ""


def program_page(view: ProgramView) -> str:
    """Return the page."""
    sections = [checks_section(view.checks)]
    if view.facts:
        sections.append(section("At present", el("div", facts(view.facts), class_="card")))
    for title, entries in view.tables.items():
        rows = [(el("span", name, class_="mono"), el("span", value, class_="mono")) for name, value in entries.items()]
        sections.append(section(f"{title} ({len(entries)})", table(("Name", "Value"), rows)))
    if view.config:
        sections.append(
            code_section("Configuration in use", view.config_name or "from flags and variables", view.config)
        )
    return page(
        title=f"{view.title} on {view.node}" if view.node else view.title,
        about=f"Version {view.version}. As of {moment(view.now)}.",
        checks=view.checks,
        sections=sections,
    )


def program_document(view: ProgramView) -> dict[str, Any]:
    """Return the same for programs."""
    return {
        "program": view.title,
        "version": view.version,
        "node": view.node,
        "time": view.now,
        "checks": [{"name": check.name, "ok": check.ok, "reason": check.reason} for check in view.checks],
        "facts": dict(view.facts),
        **{title.lower(): dict(entries) for title, entries in view.tables.items()},
        "config": {"name": view.config_name},
    }
