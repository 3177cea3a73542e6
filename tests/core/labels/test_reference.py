"""Every label is told of: on the page of labels, to those who come from the original, and by a test of its value."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

import gpu_core.labels
from core.labels.building import FACTS, config
from core.resources.building import recorded_node
from gpu_core.config.words import ExtraLabels, MigStrategy
from gpu_core.labels import PREFIX, all_labels

ROOT = Path(__file__).parents[3]
GOLDEN = ROOT / "tests/golden"
PAGE = (ROOT / "docs/reference/labels.md").read_text("utf-8")
PARITY = (ROOT / "docs/parity.md").read_text("utf-8")
NODES = sorted(path.stem for path in (GOLDEN / "topologies").glob("*.yaml"))


@cache
def keys() -> frozenset[str]:
    """Return the keys of all labels: those written in the code, and those that recorded nodes have."""
    return frozenset({*_written(), *map(general, _made())})


def _written() -> Iterator[str]:
    for file in Path(str(gpu_core.labels.__file__)).parent.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            match node:
                case ast.JoinedStr(
                    values=[ast.FormattedValue(value=ast.Name(id="PREFIX")), ast.Constant(value=str(key))]
                ):
                    yield key


def _made() -> Iterator[str]:
    for name in NODES:
        for strategy in MigStrategy:
            settings = config(strategy, extra=ExtraLabels.ALL)
            yield from all_labels(recorded_node(name), replace(FACTS, shows_gpu=True), settings)


def general(key: str) -> str:
    """Return a key for any model and any MIG profile: those of MIG devices are those of `gpu` and some more."""
    key = key.removeprefix(PREFIX)
    key = re.sub(r"^model-.*(\.\w+)$", r"model-<product>\1", key)
    return re.sub(r"^mig-[\dc.]*\d+g\.\d+gb([.-](me|gfx|all))*\.", "gpu.", key)


def on_the_page() -> Iterator[str]:
    """Give the keys in the first columns of the page's tables; `.b` is the key before it with another end."""
    for line in PAGE.splitlines():
        stem = ""
        for word in re.findall(r"`([^`]+)`", line.split("|")[1] if line.startswith("| `") else ""):
            key = stem + word if word.startswith(".") else word.replace("….", "gpu.")
            stem = key.rpartition(".")[0]
            yield key


def of_the_original() -> set[str]:
    files = [json.loads(file.read_text("utf-8")) for file in (GOLDEN / "labels").glob("*.json")]
    return {
        general(key) for file in files for case in file["cases"] for key in case.get("expect", {}).get("labels") or ()
    }


def test_every_label_is_on_the_page_and_the_page_has_no_other() -> None:
    assert keys() ^ set(on_the_page()) == set(), "Write a row for it into docs/reference/labels.md."


@pytest.mark.parametrize("key", sorted(keys() - of_the_original()))
def test_a_label_that_the_original_lacks_is_in_the_list_of_differences(key: str) -> None:
    assert f"`{key}`" in PARITY or f"`{key.rpartition('.')[0]}.*`" in PARITY, "Write it into docs/parity.md."


@pytest.mark.parametrize("key", sorted(keys()))
def test_a_label_has_a_test_of_its_value(key: str) -> None:
    tests = "".join(file.read_text("utf-8") for file in Path(__file__).parent.glob("test_*.py"))
    named = re.escape(key).replace("<product>", r"[^\"']+").replace("gpu\\.", r"[\w.-]+\.", 1)
    assert key in of_the_original() or re.search(named, tests), "Test its value in tests/core/labels."
