"""Values that would install something else than was meant are refused, in words that name the value and the way out."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from chart.conftest import Render
from chart.rendering import Values

TWO = {"a": "version: v1", "b": "version: v1"}


@pytest.mark.parametrize(
    ("values", "words"),
    [
        pytest.param({"namespace": "x"}, ["namespace: x is not a value", "helm --namespace x"], id="a namespace value"),
        pytest.param(
            {"enabled": False},
            ["enabled=false leaves nothing out", "`condition` of the dependency"],
            id="a condition that no chart reads",
        ),
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
            {"config": {"default": "mixed"}},
            ["config.default is mixed, but there are no configs", "config.map", "config.name"],
            id="a default without configs",
        ),
        pytest.param(
            {"image": {"repository": ""}},
            ["image.repository is not set", "make images", "image.repository=REGISTRY/nvidia-device-plugin"],
            id="no image",
        ),
        pytest.param(
            {"image": {"repository": "nvcr.io/nvidia/k8s-device-plugin", "tag": "v0.17.1"}},
            ["image.repository names nvcr.io/nvidia/k8s-device-plugin", "Set image.repository=REGISTRY/nvidia-device"],
            id="the original's image",
        ),
        pytest.param(
            {"image": {"repository": "mirror.corp:5000/nvidia/k8s-device-plugin"}},
            ["image.repository names mirror.corp:5000/nvidia/k8s-device-plugin"],
            id="a mirror of the original's image",
        ),
        pytest.param(
            {"gfd": {"enabled": True, "image": {"repository": "nvcr.io/nvidia/gpu-feature-discovery"}}},
            ["gfd.image.repository names nvcr.io/nvidia/gpu-feature-discovery"],
            id="the original's image of one component",
        ),
        pytest.param({"metrics": {"port": 70000}}, ["port"], id="a port that does not exist"),
        pytest.param(
            {"image": {"repository": "reg.corp/gpu/nvidia-device-plugin@sha256", "tag": "0" * 64}},
            ["hold a digest", "mps-control-daemon is needed as well", "mps.image.digest"],
            id="the digest of one image for all",
        ),
    ],
)
def test_contradictory_values(refusal: Callable[..., str], values: Values, words: list[str]) -> None:
    text = refusal(values)

    assert [word for word in words if word not in text] == []


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
