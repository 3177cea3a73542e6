"""Helm 3 and Helm 4 for the chart's tests, which `make` has fetched."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path

import chart_tools
import pytest

from chart.rendering import RefusedError, Rendering, Values, render
from chart.schemas import complaints

Render = Callable[..., Rendering]


@pytest.fixture(scope="session")
def tools() -> Path:
    """Give the directory with helm-3, helm-4, hadolint and the schemas; skip, saying why, where they are not."""
    reason = chart_tools.lacking()
    if reason is not None:
        pytest.skip(reason)
    return chart_tools.TOOLS


@pytest.fixture(params=["helm-3", "helm-4"])
def rendered(request: pytest.FixtureRequest, tools: Path) -> Render:
    """Render values with each Helm, and check what must hold for every rendering."""

    def rendered(values: Values, *, release: str = "r", namespace: str = "gpu") -> Rendering:
        rendering = render(tools / request.param, values, release=release, namespace=namespace)
        assert [text for item in rendering.objects for text in complaints(tools, json.dumps(item))] == []
        assert overlapping(rendering) == []
        return rendering

    return rendered


@pytest.fixture(params=["helm-3", "helm-4"])
def refusal(request: pytest.FixtureRequest, tools: Path) -> Callable[..., str]:
    """Give what each Helm says about values that it must refuse."""

    def refusal(values: Values, *, namespace: str = "gpu") -> str:
        with pytest.raises(RefusedError) as refused:
            render(tools / request.param, values, namespace=namespace)
        return str(refused.value)

    return refusal


def overlapping(rendering: Rendering) -> list[tuple[str, str]]:
    """Give pairs of DaemonSets of which the first selects the second's pods."""
    sets = [item for item in rendering.objects if item["kind"] == "DaemonSet"]
    return [
        (one["metadata"]["name"], other["metadata"]["name"])
        for one, other in itertools.permutations(sets, 2)
        if one["spec"]["selector"]["matchLabels"].items() <= other["spec"]["template"]["metadata"]["labels"].items()
    ]
