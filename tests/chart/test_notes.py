"""What a user reads after an installation, and the subchart that may come along."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from package_chart import depend_on_nfd

from chart.rendering import ABSENT, CHART, Values, render


def with_notes(directory: Path) -> Path:
    """Copy the chart, with its notes as an object: `helm template` does not show them otherwise."""
    chart = shutil.copytree(CHART, directory / CHART.name)
    (chart / "templates/NOTES.txt").rename(chart / "NOTES.txt")
    (chart / "templates/notes.yaml").write_text(
        "apiVersion: v1\nkind: Notes\nmetadata: {name: notes}\n"
        'text: |-\n  {{- tpl (.Files.Get "NOTES.txt") . | nindent 2 }}\n'
    )
    return chart


@pytest.mark.parametrize(
    ("values", "there", "not_there"),
    [
        pytest.param(
            {},
            [
                "DaemonSet r-nvidia-device-plugin\n",
                "DaemonSet r-nvidia-device-plugin-mps\n",
                "nvidia.com/gpu.present=true",
            ],
            ["-gfd", "device-plugin.config", "WARNING", "simulated"],
            id="what is installed, and how to look at it",
        ),
        pytest.param(
            {"config": {"map": {"default": ""}}},
            ["device-plugin.config=NAME", "ConfigMap r-nvidia-device-plugin-configs"],
            [],
            id="how to choose a config",
        ),
        pytest.param(
            {"simulatedNode": "h100x8"}, ["simulated GPUs (h100x8)"], ["gpu.present"], id="that GPUs are simulated"
        ),
        pytest.param(
            {"gfd": {"enabled": True}, "nfd": {"enabled": False}},
            ["WARNING", "set gfd.output=node"],
            [],
            id="that an NFD which is said to be there is missing",
        ),
        pytest.param(
            {"gfd": {"enabled": True}},
            ["labels straight to the Nodes", "nvidia.com/gpu.present=true", "nfd.enabled=false"],
            ["WARNING", "NOTE"],
            id="that no NFD is needed",
        ),
        pytest.param(
            {"nodeSelector": {"feature.node.kubernetes.io/pci-10de.present": "true"}},
            ["WARNING: nodeSelector asks for labels that only Node Feature Discovery sets", "nfd.enabled=false"],
            [],
            id="that pods wait for labels which nobody sets",
        ),
        pytest.param(
            {"nodeSelector": {"feature.node.kubernetes.io/pci-10de.present": "true"}, "nfd": {"enabled": False}},
            [],
            ["WARNING"],
            id="unless there is an NFD",
        ),
        pytest.param(
            {"resources": {"limits": {"memory": "64Mi"}}, "gfd": {"resources": {"limits": {"memory": "100M"}}}},
            [
                "WARNING: these limits",
                "would be killed: resources.limits.memory (64Mi), gfd.resources.limits.memory (100M).",
            ],
            [],
            id="limits that would kill the programs",
        ),
        pytest.param(
            {"resources": {"limits": {"memory": "128Mi", "cpu": 1}}, "gfd": {"resources": {"limits": {"cpu": 1}}}},
            [],
            ["WARNING"],
            id="limits that do not",
        ),
        pytest.param(
            {"image": {"tag": "v0.17.2"}, "gfd": {"image": {"tag": "0.18.0-ubi9"}}},
            ["called like releases of NVIDIA's: image.tag (v0.17.2), gfd.image.tag (0.18.0-ubi9).", "for v0.1.0"],
            [],
            id="a tag that was left over from NVIDIA's image",
        ),
        pytest.param(
            {"image": {"tag": "v0.1.0-a1b2c3"}, "gfd": {"image": {"tag": "2026-11-30"}}},
            [],
            ["WARNING"],
            id="tags of one's own images",
        ),
        pytest.param(
            {"devicePlugin": {"enabled": False}, "gfd": {"enabled": True}, "config": {"map": {"default": ""}}},
            ["\n2. Give a node another config"],
            ["\n3. "],
            id="steps that are numbered one after the other",
        ),
        pytest.param(
            {"nfd": {"enabled": True, "worker": {"config": {}}, "gc": {"enable": True}}},
            ["NOTE: these values have no effect here and can go: nfd.gc."],
            [],
            id="values of an NFD that is not packaged",
        ),
        pytest.param(
            {"gfd": {"namespaceOverride": "x"}, "legacyDaemonsetAPI": False},
            ["NOTE: these values have no effect here and can go: gfd.namespaceOverride."],
            [],
            id="a value without effect",
        ),
    ],
)
def test_notes(tools: Path, tmp_path: Path, values: Values, there: list[str], not_there: list[str]) -> None:
    notes = render(tools / "helm-4", values, chart=with_notes(tmp_path)).at("Notes/notes: text")

    assert [text for text in there if text not in notes] == []
    assert [text for text in not_there if text in notes] == []


NFD_BEARS = [
    {"key": "node-role.kubernetes.io/master", "operator": "Equal", "value": "", "effect": "NoSchedule"},
    {"key": "nvidia.com/gpu", "operator": "Equal", "value": "present", "effect": "NoSchedule"},
]
BEARS = [
    {"key": "CriticalAddonsOnly", "operator": "Exists"},
    {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},
]


@pytest.mark.parametrize("helm", ["helm-3", "helm-4"])
def test_node_feature_discovery_can_be_packaged_inside(tools: Path, tmp_path: Path, helm: str) -> None:
    """As `make chart NFD=1` does, with a stand-in for the chart that it downloads."""
    chart = shutil.copytree(CHART, tmp_path / CHART.name)
    depend_on_nfd(chart)
    nfd = chart / "charts/node-feature-discovery"
    (nfd / "templates").mkdir(parents=True)
    (nfd / "Chart.yaml").write_text("apiVersion: v2\nname: node-feature-discovery\nversion: 0.19.0\n")
    (nfd / "templates/seen.yaml").write_text(
        "apiVersion: v1\nkind: Seen\nmetadata: {name: nfd}\nvalues: {{ toJson .Values }}\n"
    )

    inside = render(tools / helm, {"nfd": {"enabled": True, "worker": {"x": "y"}}}, chart=chart)

    def installed(values: Values) -> bool:
        return "Seen" in render(tools / helm, values, chart=chart).kinds()

    def publishes(values: Values) -> Any:
        """Give where labels go; ABSENT where that is left to the configs."""
        container = "DaemonSet/r-nvidia-device-plugin-gfd: pod.containers[gpu-feature-discovery-ctr]"
        return render(tools / helm, values, chart=chart).at(f"{container}.env[GFD_PUBLISH].value")

    def borne(values: Values) -> Any:
        """Give the taints that NFD's workers bear."""
        seen = render(tools / helm, {**values, "gfd": {"enabled": True}}, chart=chart)
        return seen.at("Seen/nfd: values.worker.tolerations")

    assert not installed({})
    assert installed({"gfd": {"enabled": True}})
    assert not installed({"gfd": {"enabled": True}, "nfd": {"enabled": False}})
    assert publishes({"gfd": {"enabled": True}}) is ABSENT
    assert publishes({"gfd": {"enabled": True}, "nfd": {"enableNodeFeatureApi": True}}) == "nodefeature"
    assert inside.at("Seen/nfd: values.master.config.extraLabelNs") == ["nvidia.com"]
    assert inside.at("Seen/nfd: values.worker.x") == "y"
    assert borne({}) == [*NFD_BEARS, *BEARS]
    assert borne({"devicePlugin": {"tolerations": [{"key": "a"}]}, "tolerations": []}) == [*NFD_BEARS, {"key": "a"}]
    assert borne({"devicePlugin": {"removeTaint": "a.b/c"}})[-1] == {"key": "a.b/c", "operator": "Exists"}
    assert borne({"nfd": {"worker": {"tolerations": BEARS[:1]}}}) == BEARS
    assert inside.at("DaemonSet/r-nvidia-device-plugin: kind") == "DaemonSet"
