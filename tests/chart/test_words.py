"""The chart knows the words that the programs know: in its schema, its checks, and what it says about its values."""

from __future__ import annotations

import json
from collections.abc import Iterator
from enum import StrEnum
from typing import Any

import pytest
from chart_docs import documented

from chart.rendering import CHART
from gpu_core.config.words import (
    DeviceDiscoveryStrategy,
    DeviceIDStrategy,
    DeviceListStrategy,
    FallbackStrategy,
    LogFormat,
    LogLevel,
    MigStrategy,
    XidDefaults,
)

WORDS: dict[str, type[StrEnum]] = {
    "config.fallbackStrategies": FallbackStrategy,
    "migStrategy": MigStrategy,
    "deviceListStrategy": DeviceListStrategy,
    "deviceIDStrategy": DeviceIDStrategy,
    "deviceDiscoveryStrategy": DeviceDiscoveryStrategy,
    "logLevel": LogLevel,
    "logFormat": LogFormat,
    "devicePlugin.xidPolicy": XidDefaults,
}
# Words of the chart's own, which no program sees.
OWN = {"gfd.output", "configManager.mode"}
ABSENT = ("", None)


def listed(schema: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, list[str]]]:
    """Give the values for which the schema lists words, with these."""
    for name, value in schema["properties"].items():
        words = value.get("enum") or value.get("items", {}).get("enum")
        if words:
            yield f"{prefix}{name}", [word for word in words if word not in ABSENT]
        if "properties" in value:
            yield from listed(value, f"{prefix}{name}.")


LISTED = dict(listed(json.loads((CHART / "values.schema.json").read_text())))
MEANINGS = {value.path: value.meaning for value in documented((CHART / "values.yaml").read_text())}


def test_every_list_of_words_is_compared_or_the_charts_own() -> None:
    assert LISTED.keys() == WORDS.keys() | OWN


@pytest.mark.parametrize(("value", "words"), WORDS.items(), ids=WORDS)
def test_the_schema_takes_the_words_that_the_programs_take(value: str, words: type[StrEnum]) -> None:
    assert LISTED[value] == [word.value for word in words], f"Write them at {value} into values.schema.json."


@pytest.mark.parametrize("value", [*WORDS, *sorted(OWN)])
def test_the_meaning_of_a_value_names_each_of_its_words(value: str) -> None:
    unnamed = [word for word in LISTED[value] if f"`{word}`" not in MEANINGS[value]]
    assert unnamed == [], f"Name them above {value} in values.yaml."
