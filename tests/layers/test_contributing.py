"""What the page for contributors names is there."""

from __future__ import annotations

import re

import pytest

from layers.tree import ROOT

PAGE = (ROOT / "docs/contributing.md").read_text(encoding="utf-8")
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
PATHS = re.findall(r"`((?:packages|tests|docs|charts)/?[^\s`]*)`", PAGE)


@pytest.mark.parametrize("path", sorted(set(PATHS)))
def test_a_path_of_the_page_exists(path: str) -> None:
    assert (ROOT / path).exists()


def test_targets_of_the_page_exist() -> None:
    named = {word for words in re.findall(r"`make ([a-z -]+)", PAGE) for word in words.split()}
    assert "test-fast" in named
    assert named - TARGETS == set()


@pytest.mark.parametrize(("name", "file"), re.findall(r"`(\w+)`\s*\(`([^`]+\.py)`\)", PAGE))
def test_a_name_of_the_page_is_defined_where_it_says(name: str, file: str) -> None:
    assert re.search(rf"^{name}\b", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)


def test_there_is_a_list_for_each_addition() -> None:
    assert re.findall(r"^## To add an? (.+)$", PAGE, re.MULTILINE) == [
        "label",
        "simulated node",
        "strategy",
        "metric",
        "XID",
    ]
