"""Laws that hold for every configuration, found out with generated ones."""

from __future__ import annotations

import json

from hypothesis import given

from core.config.legal_layers import layers
from gpu_core.config.build import build_config
from gpu_core.config.effective import config_document
from gpu_core.config.file.decode import parse_text
from gpu_core.config.layers import Layer, union


@given(layers(), layers(), layers())
def test_layering_is_associative(first: Layer, second: Layer, third: Layer) -> None:
    assert union(union(first, second), third) == union(first, union(second, third))


@given(layers())
def test_the_empty_layer_changes_nothing(layer: Layer) -> None:
    assert union({}, layer) == union(layer, {}) == layer


@given(layers(), layers())
def test_the_later_layer_wins_key_by_key(below: Layer, above: Layer) -> None:
    merged = union(below, above)

    assert {path: merged[path] for path in above} == above
    assert {path: merged[path] for path in below if path not in above} == {
        path: value for path, value in below.items() if path not in above
    }


@given(layers())
def test_a_config_that_is_written_and_read_again_is_the_same(layer: Layer) -> None:
    config = build_config(layer)

    parsed = parse_text(json.dumps(config_document(config), ensure_ascii=False), "config.json")

    assert not parsed.problems
    assert build_config(parsed.layer) == config
