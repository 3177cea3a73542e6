"""Values of Flux HelmReleases that people have published: each works here, with our image given on top.

All are called kubernetes/apps/kube-system/nvidia-device-plugin/app/helmrelease.yaml, as a widely copied template has
it; the ids name the repositories. Keys and values are theirs.
"""

from __future__ import annotations

from typing import Any

import pytest

from chart.conftest import Render
from chart.published import CTR, GFD, PLUGIN, TOLERATED, installed, required, shared
from chart.rendering import ABSENT, Values


@pytest.mark.parametrize(
    ("values", "sets", "facts"),
    [
        pytest.param(
            {
                "runtimeClassName": "nvidia",
                "tolerations": [TOLERATED],
                "nodeSelector": {"feature.node.kubernetes.io/pci-0300_10de.present": "true"},
                "affinity": [],
                "config": {"map": {"default": shared(6)}},
            },
            ["", "-mps"],
            {
                f"{PLUGIN}.affinity": ABSENT,
                f"{PLUGIN}.nodeSelector": {"feature.node.kubernetes.io/pci-0300_10de.present": "true"},
            },
            id="tscibilia/home-ops",
        ),
        pytest.param(
            {
                "runtimeClassName": "nvidia",
                "securityContext": {"capabilities": {"add": ["SYS_ADMIN"]}},
                "affinity": required({"key": "nvidia.com/gpu.present", "operator": "In", "values": ["true"]}),
                "tolerations": [TOLERATED, {"key": "CriticalAddonsOnly", "operator": "Exists"}],
                "resources": {"requests": {"cpu": "50m", "memory": "100Mi"}, "limits": {"memory": "200Mi"}},
                "priorityClassName": "system-node-critical",
                "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}},
            },
            ["", "-mps"],
            {
                f"{CTR}.securityContext": {"capabilities": {"add": ["SYS_ADMIN"]}},
                "DaemonSet/r-nvidia-device-plugin: spec.updateStrategy.rollingUpdate": {"maxUnavailable": 1},
            },
            id="jlengelbrecht/prox-ops",
        ),
        pytest.param(
            {
                "runtimeClassName": "nvidia",
                "affinity": required(
                    {"key": "extensions.talos.dev/nvidia-container-toolkit-production", "operator": "Exists"}
                ),
                "config": {"map": {"default": shared(3)}},
            },
            ["", "-mps"],
            {
                f"{PLUGIN}.affinity": required(
                    {"key": "extensions.talos.dev/nvidia-container-toolkit-production", "operator": "Exists"}
                )
            },
            id="hydazz/home-ops",
        ),
        pytest.param(
            {
                "config": {
                    "map": {
                        "default": "version: v1\nflags:\n  migStrategy: none",
                        "mig-single": "version: v1\nflags:\n  migStrategy: single",
                        "mig-mixed": "version: v1\nflags:\n  migStrategy: mixed",
                    },
                    "default": "default",
                    "fallbackStrategies": ["named", "single"],
                },
                "runtimeClassName": "nvidia",
                "nodeSelector": {"feature.node.kubernetes.io/pci-10de.present": "true"},
                "nfd": {},
                "gfd": {"enabled": False},
            },
            ["", "-mps"],
            {
                f"{CTR}.securityContext.capabilities": {"drop": ["ALL"], "add": ["SYS_ADMIN"]},
                f"{CTR}.env[NVIDIA_MIG_MONITOR_DEVICES].value": "all",
            },
            id="mitchross/k8s-homelab-cluster-v2",
        ),
        pytest.param(
            {
                "runtimeClassName": "nvidia",
                "gfd": {"enabled": True},
                "nfd": {
                    "enableNodeFeatureApi": True,
                    "worker": {"config": {"sources": {"pci": {"deviceClassWhitelist": ["03"]}}}},
                },
            },
            ["", "-gfd", "-gfd-finder", "-mps"],
            {f"{GFD}.containers[gpu-feature-discovery-ctr].env[GFD_PUBLISH].value": "node"},
            id="d4rkfella/home-ops",
        ),
        pytest.param(
            {
                "image": {"repository": "nvcr.io/nvidia/k8s-device-plugin", "tag": "v0.19.1"},
                "runtimeClassName": "nvidia",
                "config": {"map": {"default": shared(6).replace("none", 'none\n  nvidiaDriverRoot: "/usr/local"')}},
            },
            ["", "-mps"],
            {
                f"{PLUGIN}.initContainers[nvidia-device-plugin-init].image": (
                    "registry.example/gpu/gpu-config-manager:v0.19.1"
                ),
                f"{CTR}.securityContext.capabilities": {"drop": ["ALL"]},
            },
            id="jhart99/home-ops",
        ),
    ],
)
def test_published_values_work(rendered: Render, values: Values, sets: list[str], facts: dict[str, Any]) -> None:
    assert installed(rendered, values, list(facts)) == (sets, facts)
