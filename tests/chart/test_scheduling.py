"""Where pods run, and with what: a value for all, and each component's own word."""

from __future__ import annotations

from typing import Any

import pytest

from chart.conftest import Render
from chart.rendering import ABSENT, Values, merged

SETS = {"devicePlugin": "", "gfd": "-gfd", "mps": "-mps", "configManager": "-config"}
EVERYTHING: Values = {
    "gfd": {"enabled": True},
    "config": {"map": {"default": ""}},
    "configManager": {"mode": "daemonset"},
    "nfd": {"enabled": False},
}


def of_each(rendered: Render, values: Values, path: str) -> dict[str, Any]:
    """Give what each component has at a path."""
    rendering = rendered(merged(EVERYTHING, values))
    return {key: rendering.at(f"DaemonSet/r-nvidia-device-plugin{suffix}: {path}") for key, suffix in SETS.items()}


def but(value: Any, **others: Any) -> dict[str, Any]:
    """Give this value for every component, except for some."""
    return {**dict.fromkeys(SETS, value), **others}


TOLERATIONS = [
    {"key": "CriticalAddonsOnly", "operator": "Exists"},
    {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},
]
MPS = {"nvidia.com/mps.capable": "true"}
ZONE = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "Exists"}]}]
        }
    }
}


@pytest.mark.parametrize(
    ("values", "path", "expected"),
    [
        pytest.param({}, "pod.tolerations", but(TOLERATIONS), id="all bear the same taints"),
        pytest.param({"tolerations": []}, "pod.tolerations", but(ABSENT), id="or none"),
        pytest.param(
            {"tolerations": [{"key": "sla", "operator": "Gt", "value": "950"}]},
            "pod.tolerations",
            but([{"key": "sla", "operator": "Gt", "value": "950"}]),
            id="or those that newer clusters compare by number",
        ),
        pytest.param(
            {"gfd": {"tolerations": [{"operator": "Exists"}]}},
            "pod.tolerations",
            but(TOLERATIONS, gfd=[{"operator": "Exists"}]),
            id="or one has its own",
        ),
        pytest.param({"gfd": {"tolerations": []}}, "pod.tolerations", but(TOLERATIONS, gfd=ABSENT), id="even none"),
        pytest.param(
            {"devicePlugin": {"removeTaint": "a.b/c"}, "gfd": {"tolerations": []}},
            "pod.tolerations",
            but([*TOLERATIONS, {"key": "a.b/c", "operator": "Exists"}], gfd=[{"key": "a.b/c", "operator": "Exists"}]),
            id="all bear the taint that one of them takes off",
        ),
        pytest.param(
            {"devicePlugin": {"enabled": False, "removeTaint": "a.b/c"}, "mps": {"enabled": False}},
            "pod.tolerations",
            but(TOLERATIONS, devicePlugin=ABSENT, mps=ABSENT),
            id="which without the plugin nobody does",
        ),
        pytest.param({"affinity": None}, "pod.affinity", but(ABSENT), id="affinity: null empties it"),
        pytest.param(
            {"affinity": None, "gfd": {"affinity": ZONE}},
            "pod.affinity",
            but(ABSENT, gfd=ZONE),
            id="or one has its own",
        ),
        pytest.param({"simulatedNode": "t4"}, "pod.affinity", but(ABSENT), id="simulated nodes need no GPU"),
        pytest.param(
            {"nodeSelector": {"a": "b"}},
            "pod.nodeSelector",
            but({"a": "b"}, mps={"a": "b", **MPS}),
            id="a node selector for all; MPS adds its own",
        ),
        pytest.param(
            {"nodeSelector": {"a": "b"}, "devicePlugin": {"nodeSelector": {"c": "d"}}, "mps": {"nodeSelector": {}}},
            "pod.nodeSelector",
            but({"a": "b"}, devicePlugin={"c": "d"}, mps=MPS),
            id="a component's own replaces it",
        ),
        pytest.param({}, "pod.priorityClassName", but("system-node-critical"), id="node-critical"),
        pytest.param({"priorityClassName": ""}, "pod.priorityClassName", but(ABSENT), id="no priority class"),
        pytest.param(
            {"gfd": {"priorityClassName": "low"}},
            "pod.priorityClassName",
            but("system-node-critical", gfd="low"),
            id="another class for one",
        ),
        pytest.param(
            {"runtimeClassName": "nvidia"},
            "pod.runtimeClassName",
            but("nvidia", configManager=ABSENT),
            id="a runtime class where hardware is read",
        ),
        pytest.param(
            {"runtimeClassName": "nvidia", "simulatedNode": "t4"},
            "pod.runtimeClassName",
            but(ABSENT),
            id="not if simulated",
        ),
        pytest.param(
            {"runtimeClass": {"create": True}},
            "pod.runtimeClassName",
            but("nvidia", configManager=ABSENT),
            id="a runtime class of the chart's own",
        ),
        pytest.param(
            {"runtimeClassName": "nvidia", "gfd": {"runtimeClassName": "other"}},
            "pod.runtimeClassName",
            but("nvidia", gfd="other", configManager=ABSENT),
            id="another runtime class for one",
        ),
        pytest.param(
            {"imagePullSecrets": [{"name": "s"}]}, "pod.imagePullSecrets", but([{"name": "s"}]), id="pull secrets"
        ),
        pytest.param(
            {"imagePullSecrets": [{"name": "s"}], "gfd": {"imagePullSecrets": [{"name": "t"}, {"name": "s"}]}},
            "pod.imagePullSecrets",
            but([{"name": "s"}], gfd=[{"name": "s"}, {"name": "t"}]),
            id="pull secrets add up",
        ),
        pytest.param(
            {"mps": {"enableHostNetwork": True}}, "pod.hostNetwork", but(ABSENT, mps=True), id="the host's network"
        ),
        pytest.param(
            {"gfd": {"enableHostNetwork": True}},
            "pod.dnsPolicy",
            but(ABSENT, gfd="ClusterFirstWithHostNet"),
            id="with the cluster's DNS",
        ),
        pytest.param(
            {"podSecurityContext": {"fsGroup": 1}},
            "pod.securityContext",
            but({"fsGroup": 1}),
            id="pod security context",
        ),
        pytest.param(
            {"podSecurityContext": {"fsGroup": 1}, "gfd": {"podSecurityContext": {"fsGroup": 2}}},
            "pod.securityContext",
            but({"fsGroup": 1}, gfd={"fsGroup": 2}),
            id="another one for one",
        ),
        pytest.param(
            {
                "updateStrategy": {"type": "OnDelete"},
                "gfd": {"updateStrategy": {"rollingUpdate": {"maxUnavailable": 2}}},
            },
            "spec.updateStrategy",
            but({"type": "OnDelete"}, gfd={"rollingUpdate": {"maxUnavailable": 2}}),
            id="how they roll",
        ),
        pytest.param(
            {"podAnnotations": {"a": "1", "b": "1"}, "mps": {"podAnnotations": {"b": "2"}}},
            "spec.template.metadata.annotations",
            but({"a": "1", "b": "1"}, mps={"a": "1", "b": "2"}),
            id="annotations add up",
        ),
        pytest.param(
            {"gfd": {"podLabels": {"x": "y"}}}, "spec.template.metadata.labels.x", but(ABSENT, gfd="y"), id="labels"
        ),
    ],
)
def test_each_component(rendered: Render, values: Values, path: str, expected: Values) -> None:
    assert of_each(rendered, values, path) == expected


CONTAINERS = {
    "devicePlugin": "nvidia-device-plugin-ctr",
    "gfd": "gpu-feature-discovery-ctr",
    "mps": "mps-control-daemon-ctr",
    "configManager": "gpu-config-manager-ctr",
}
BUILT_IN = {
    "devicePlugin": {"requests": {"cpu": "10m", "memory": "96Mi"}, "limits": {"memory": "512Mi"}},
    "gfd": {"requests": {"cpu": "10m", "memory": "96Mi"}, "limits": {"memory": "512Mi"}},
    "mps": {"requests": {"cpu": "10m", "memory": "64Mi"}},
    "configManager": {"requests": {"cpu": "5m", "memory": "64Mi"}, "limits": {"memory": "256Mi"}},
}
ALL = {"limits": {"cpu": "1"}}


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param({}, BUILT_IN, id="as the comments in values.yaml say"),
        pytest.param({"resources": ALL}, dict.fromkeys(SETS, ALL), id="the same for all"),
        pytest.param(
            {"resources": ALL, "gfd": {"resources": {"limits": {"cpu": "2"}}}},
            {**dict.fromkeys(SETS, ALL), "gfd": {"limits": {"cpu": "2"}}},
            id="one has its own",
        ),
        pytest.param({"devicePlugin": {"resources": {}}}, {**BUILT_IN, "devicePlugin": ABSENT}, id="one has none"),
    ],
)
def test_resources(rendered: Render, values: Values, expected: Values) -> None:
    rendering = rendered(merged(EVERYTHING, values))

    assert {
        key: rendering.at(f"DaemonSet/r-nvidia-device-plugin{suffix}: pod.containers[{CONTAINERS[key]}].resources")
        for key, suffix in SETS.items()
    } == expected


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param({}, ["", "-mps"], id="the plugin, and MPS with it"),
        pytest.param({"gfd": {"enabled": True}}, ["", "-gfd", "-mps"], id="feature discovery where asked for"),
        pytest.param(
            {"devicePlugin": {"enabled": False}, "gfd": {"enabled": True}}, ["-gfd"], id="only feature discovery"
        ),
        pytest.param({"devicePlugin": {"enabled": False}, "mps": {"enabled": True}}, ["-mps"], id="only MPS"),
        pytest.param(
            {"gfd": {"enabled": True}, "runtimeClassName": "nvidia"},
            ["", "-gfd", "-gfd-finder", "-mps"],
            id="somebody who looks for GPUs where there is no runtime for them",
        ),
        pytest.param({"mps": {"enabled": False}}, [""], id="the plugin without MPS"),
        pytest.param({"simulatedNode": "h100x8"}, [""], id="no MPS on simulated nodes"),
        pytest.param({"simulatedNode": "h100x8", "mps": {"enabled": True}}, ["", "-mps"], id="unless asked for"),
    ],
)
def test_what_is_installed(rendered: Render, values: Values, expected: list[str]) -> None:
    names = rendered(values).kinds()["DaemonSet"]

    assert [name.removeprefix("r-nvidia-device-plugin") for name in names] == expected
