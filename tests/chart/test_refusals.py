"""Values that would install something else than was meant are refused, in words that name the value and the way out."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from chart.conftest import Render
from chart.rendering import CHART, RefusedError, Values, render
from chart.test_names import ORIGINAL_VALUES

TWO = {"a": "version: v1", "b": "version: v1"}


@pytest.mark.parametrize(
    ("values", "words"),
    [
        pytest.param({"namespace": "x"}, ["namespace: x is not a value", "helm --namespace x"], id="a namespace value"),
        pytest.param(
            {"config": {"name": "theirs", "map": {"default": ""}}},
            ["config.name and config.map are both given"],
            id="two ConfigMaps",
        ),
        pytest.param(
            {"config": {"map": TWO}},
            ["config.map holds a, b", "config.default is empty", "Set config.default"],
            id="several configs without a default",
        ),
        pytest.param(
            {"config": {"map": {"only": ""}, "fallbackStrategies": ["named"]}},
            ["config.map holds only", "(named) settles on none"],
            id="one config that the strategies do not pick",
        ),
        pytest.param(
            {"config": {"map": TWO, "default": "c"}},
            ["config.default is c, which config.map does not hold. It holds: a, b."],
            id="a default that does not exist",
        ),
        pytest.param(
            {"config": {"map": {"default": "flags: [unclosed"}}},
            ["config.map.default is no config file", "default: |-"],
            id="a config that is no YAML",
        ),
        pytest.param(
            {"config": {"map": {"default": "just words"}}},
            ["config.map.default is no config file"],
            id="a config that is no mapping",
        ),
        pytest.param(
            {"deviceListStrategy": "envvar,cdi"},
            ['deviceListStrategy does not know "cdi"', "envvar, volume-mounts, cdi-annotations, cdi-cri"],
            id="an unknown word among several",
        ),
        pytest.param({"sleepInterval": "soon"}, ['sleepInterval is "soon"', "60s"], id="a pause that is no duration"),
        pytest.param({"gfd": {"sleepInterval": "60 s"}}, ['gfd.sleepInterval is "60 s"'], id="the same for gfd"),
        pytest.param(
            {"nvidiaDriverRoot": "run/nvidia"},
            ['nvidiaDriverRoot is "run/nvidia"', "Begin it with a slash"],
            id="a path that is not absolute",
        ),
        pytest.param(
            {"nameOverride": "gpu-feature-discovery"},
            ['Two components would be called "gpu-feature-discovery"', "gfd.nameOverride"],
            id="two components of one name",
        ),
        pytest.param(
            {"configManager": {"mode": "daemonset", "sendSignal": True}},
            ["configManager.sendSignal works only in mode `sidecar`"],
            id="signals across pods",
        ),
        pytest.param(
            {"nfd": {"enabled": True}},
            ["holds no Node Feature Discovery", "make chart NFD=1"],
            id="an NFD that is not packaged",
        ),
        pytest.param({"metrics": {"port": 70000}}, ["port"], id="a port that does not exist"),
        pytest.param(
            {"image": {"repository": "reg.corp/gpu/nvidia-device-plugin@sha256", "tag": "0" * 64}},
            ["hold a digest", "mps-control-daemon is needed as well", "mps.image.digest"],
            id="the digest of one image for all",
        ),
        pytest.param({"probes": None}, ["The value probes is missing"], id="a group of values that is null"),
    ],
)
def test_contradictory_values(refusal: Callable[..., str], values: Values, words: list[str]) -> None:
    text = refusal(values)

    assert [word for word in words if word not in text] == []


@pytest.mark.parametrize("helm", ["helm-3", "helm-4"])
def test_values_of_a_release_of_the_originals(tools: Path, tmp_path: Path, helm: str) -> None:
    """As `helm upgrade --reuse-values` has them, which puts them in the place of this chart's defaults."""
    chart = shutil.copytree(CHART, tmp_path / CHART.name)
    (chart / "values.yaml").write_text(json.dumps(ORIGINAL_VALUES))

    with pytest.raises(RefusedError, match="--reset-then-reuse-values"):
        render(tools / helm, {}, chart=chart)


def test_the_default_namespace(refusal: Callable[..., str]) -> None:
    assert "helm --namespace NAME --create-namespace" in refusal({}, namespace="default")


def test_the_default_namespace_can_be_allowed(rendered: Render) -> None:
    rendering = rendered({"allowDefaultNamespace": True}, namespace="default")

    assert rendering.at("DaemonSet/r-nvidia-device-plugin: metadata.namespace") == "default"


@pytest.mark.parametrize(
    ("values", "words"),
    [
        pytest.param({"migStratgy": "mixed"}, ["migStratgy", "not allowed"], id="an unknown value"),
        pytest.param({"gfd": {"enable": True}}, ["gfd", "enable", "not allowed"], id="an unknown value of a component"),
        pytest.param(
            {"devicePlugin": {"image": {"tga": "x"}}}, ["tga", "not allowed"], id="an unknown key of an image"
        ),
        pytest.param({"migStrategy": "multi"}, ["migStrategy", "none", "single", "mixed"], id="an unknown word"),
        pytest.param(
            {"deviceListStrategy": ["cdi"]}, ["deviceListStrategy", "cdi-cri"], id="an unknown word in a list"
        ),
        pytest.param({"gfd": {"output": "stdout"}}, ["output", "nodeFeature", "node", "file"], id="an unknown output"),
        pytest.param({"failOnInitError": "no"}, ["failOnInitError", "boolean"], id="text where a boolean belongs"),
        pytest.param(
            {"config": {"map": {"a": {"version": "v1"}}}}, ["string", "object"], id="a config that is no text"
        ),
        pytest.param({"configManager": {"mode": "init"}}, ["mode", "sidecar", "daemonset"], id="an unknown mode"),
        pytest.param(
            {"tolerations": [{"key": "a", "operator": "Is"}]}, ["operator", "Exists"], id="an unknown operator"
        ),
        pytest.param(
            {"devicePlugin": {"image": {"digest": "latest"}}}, ["digest", "sha256"], id="a digest that is none"
        ),
    ],
)
def test_values_that_the_schema_does_not_know(refusal: Callable[..., str], values: Values, words: list[str]) -> None:
    text = refusal(values)

    assert [word for word in words if word not in text] == []
