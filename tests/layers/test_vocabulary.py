"""The words of the house: each of its own is in the glossary, and what the API has a word for is called by that."""

from __future__ import annotations

import re
from pathlib import Path

from layers.tree import ROOT, files, generated

GLOSSARY = ROOT / "docs" / "glossary.md"
TERMS = [line.split(" | ")[0].removeprefix("| ") for line in GLOSSARY.read_text().splitlines() if "|" in line][2:]

# Devices are healthy or unhealthy, and watched or not. One letter in brackets keeps this file itself clean.
OTHER_WORDS = re.compile(r"[s]ick|[a]ilment|[i]llness|(?<![a-z])[c]ure[ds]?(?![a-z])|(?<![a-z])[b]lind", re.IGNORECASE)


def test_the_glossary_is_in_alphabetical_order() -> None:
    assert TERMS
    assert sorted(TERMS, key=str.lower) == TERMS


def test_every_term_of_the_glossary_is_in_use() -> None:
    code = " ".join(_words(path.read_text()) for path in _texts() if path.is_relative_to(ROOT / "packages"))
    assert [term for entry in TERMS for term in entry.split(", ") if f" {_words(term)} " not in code] == []


def test_devices_are_healthy_or_unhealthy_and_nothing_else() -> None:
    assert [f"{path}: {word[0]}" for path in _texts() for word in OTHER_WORDS.finditer(path.read_text())] == []


def _texts() -> list[Path]:
    """Return what people read and write: code, pages, the chart; no recorded answers."""
    return [
        ROOT / path
        for path in files()
        if path.suffix in (".py", ".md", ".tpl") or path.name == "values.yaml"
        if "releases" not in path.parts and not generated(path)
    ]


def _words(text: str) -> str:
    """Return the words of a text, those of names too: `HealthBook` is a health book."""
    return " ".join(re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", text)).lower()
