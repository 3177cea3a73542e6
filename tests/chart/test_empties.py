"""An empty list or mapping is empty, whichever of the two belongs there: people write `affinity: []`, and it works."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chart.rendering import CHART, Values, merged, render
from chart.test_values import EVERYTHING, nested

SCHEMA: Values = json.loads((CHART / "values.schema.json").read_text())
KINDS = {"array", "object"}


def either(schema: Values, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Give the paths that take an empty list and an empty mapping, each with the empty value that belongs there."""
    for key, value in schema["properties"].items():
        whole = SCHEMA["definitions"][value["$ref"].rpartition("/")[2]] if "$ref" in value else value
        if set(whole.get("type", ())) >= KINDS:
            yield f"{prefix}{key}", {} if "maxItems" in whole else []
        elif "properties" in whole and "$ref" not in value:
            yield from either(whole, f"{prefix}{key}.")


PATHS = dict(either(SCHEMA))


def test_what_is_handed_to_kubernetes_takes_either() -> None:
    common = {"affinity", "imagePullSecrets", "nodeSelector", "podAnnotations", "podSecurityContext", "resources"}
    common |= {"securityContext", "tolerations", "updateStrategy"}

    assert common <= set(PATHS)
    assert {f"{part}.{key}" for part in ("devicePlugin", "gfd", "mps", "configManager") for key in common} <= set(PATHS)


@pytest.mark.parametrize("helm", ["helm-3", "helm-4"])
@pytest.mark.parametrize("part", ["", "devicePlugin", "gfd", "mps", "configManager", "serviceAccount", "metrics"])
def test_an_empty_value_of_the_other_kind_is_empty(tools: Path, helm: str, part: str) -> None:
    ours, theirs = EVERYTHING, EVERYTHING
    paths = [path for path in PATHS if path.rpartition(".")[0].partition(".")[0] == part and path != "config.map"]
    for path in paths:
        ours = merged(ours, nested(path, PATHS[path]))
        theirs = merged(theirs, nested(path, [] if PATHS[path] == {} else {}))
    # Helm adds a mapping to the default, which an empty one leaves as it is; null takes it away, as an empty list does.
    ours = merged(ours, {key: None for key in ("affinity", "updateStrategy") if key in paths})

    assert paths
    assert render(tools / helm, theirs) == render(tools / helm, ours)
