"""Values that people have published for NVIDIA's chart: each works here, with our image given on top.

The ids name the repository and the file. Keys and values are theirs; what they leave at its default is left out, and
copies of NVIDIA's whole file are told as that file and what was changed in it.
"""

from __future__ import annotations

from typing import Any

import pytest

from chart.conftest import Render
from chart.published import CTR, FINDER, GFD, NO_SHARING, PLUGIN, TOLERATED, installed, release, shared
from chart.rendering import ABSENT, Values


@pytest.mark.parametrize(
    ("values", "sets", "facts"),
    [
        pytest.param(
            {
                "runtimeClassName": "nvidia",
                "nodeSelector": {"gpu": "nvidia"},
                "config": {"map": {"config": NO_SHARING}},
            },
            ["", "-mps"],
            {f"{PLUGIN}.runtimeClassName": "nvidia", f"{PLUGIN}.nodeSelector": {"gpu": "nvidia"}},
            id="jerome3o/k8s cluster/nvidia/values.yaml",
        ),
        pytest.param(
            {"config": {"map": {"config": shared(6)}}},
            ["", "-mps"],
            {f"{CTR}.env[CONFIG_FILE].value": "/config/config.yaml"},
            id="tenzin-io/terraform-tenzin-nvidia-device-plugin files/values.yaml",
        ),
        pytest.param(
            {
                "image": {"repository": "ghcr.io/nvidia/k8s-device-plugin", "tag": "2ab68c16"},
                "runtimeClassName": "nvidia",
                "deviceListStrategy": "cdi-cri",
                "deviceIDStrategy": "index",
                "cdi": {"nvidiaHookPath": "/usr/bin/nvidia-cdi-hook"},
                "nvidiaDriverRoot": "/",
                "gfd": {"enabled": False},
                "nfd": {"enabled": False},
                "affinity": None,
            },
            ["", "-mps"],
            {f"{PLUGIN}.affinity": ABSENT, f"{CTR}.env[DEVICE_LIST_STRATEGY].value": "cdi-cri"},
            id="NVIDIA/OpenShell deploy/kube/gpu-manifests/nvidia-device-plugin-helmchart.yaml",
        ),
        pytest.param(
            {
                "tolerations": [
                    {"key": "node-role.kubernetes.io/control-plane", "operator": "Exists", "effect": "NoSchedule"},
                    {"key": "node-role.kubernetes.io/master", "operator": "Exists", "effect": "NoSchedule"},
                    TOLERATED,
                ],
                "config": {"name": "nvidia-plugin-config"},
                "runtimeClassName": "nvidia",
                "gfd": {"enabled": True, "runtimeClassName": "nvidia"},
                "nfd": {"enabled": True},
                "resources": {"requests": {"cpu": "50m", "memory": "64Mi"}, "limits": {"memory": "256Mi"}},
            },
            ["", "-gfd", "-gfd-finder", "-mps"],
            {
                f"{GFD}.runtimeClassName": "nvidia",
                f"{FINDER}.runtimeClassName": ABSENT,
                f"{PLUGIN}.volumes[available-configs].configMap": {"name": "nvidia-plugin-config"},
            },
            id="gulasz101/homelab-2nd infrastructure/nvidia-device-plugin/helm-release.yaml",
        ),
        pytest.param(
            {
                "runtimeClassName": "nvidia",
                "gfd": {"enabled": True},
                "config": {"default": "timeslice", "map": {"timeslice": shared(8), "no-sharing": NO_SHARING}},
            },
            ["", "-gfd", "-gfd-finder", "-mps"],
            {f"{PLUGIN}.initContainers[nvidia-device-plugin-init].env[DEFAULT_CONFIG].value": "timeslice"},
            id="boettiger-lab/k8s nvidia/nvidia-device-plugin-config.yaml",
        ),
        pytest.param(
            release("0.14", {"config": {"map": {"default": shared(2)}}, "nodeSelector": {"eks/gpu-type": "nvidia"}}),
            ["", "-mps"],
            {f"{PLUGIN}.nodeSelector": {"eks/gpu-type": "nvidia"}},
            id="chuanwen-wu/aigc-game-activity terraform/eks-sd-cluster/nvidia-k8s-plugin/nvdp.yaml",
        ),
        pytest.param(
            {"gfd": {"enabled": True}, "nfd": {"enabled": True}, "runtimeClassName": "nvidia"},
            ["", "-gfd", "-gfd-finder", "-mps"],
            {f"{GFD}.containers[gpu-feature-discovery-ctr].env[GFD_PUBLISH].value": "node"},
            id="buun-ch/buun-stack nvidia-device-plugin/values.yaml",
        ),
        pytest.param(
            release("0.16-0.17", {"gfd": {"enabled": True}, "nfd": {"enabled": True}}),
            ["", "-gfd", "-mps"],
            {
                f"{GFD}.affinity": ABSENT,
                f"{GFD}.nodeSelector": {"kubernetes.io/os": "linux"},
                f"{GFD}.containers[gpu-feature-discovery-ctr].securityContext": {"privileged": True},
            },
            id="questcollector/llmops-manifests nvidia-device-plugin/values.yaml",
        ),
        pytest.param(
            release(
                "0.18.0",
                {
                    "nvidiaDriverRoot": "/",
                    "deviceDiscoveryStrategy": "nvml",
                    "securityContext": {"privileged": True},
                    "nodeSelector": {"gpu": "true"},
                },
            ),
            ["", "-mps"],
            {f"{CTR}.securityContext": {"privileged": True}, f"{CTR}.env[NVIDIA_DRIVER_ROOT].value": "/"},
            id="nwthomas/gitops helm/nvidia-device-plugin/values.yaml",
        ),
        pytest.param(
            {
                "runtimeClassName": "nvidia",
                "failOnInitError": True,
                "migStrategy": "none",
                "deviceListStrategy": "envvar",
                "nodeSelector": {"kubernetes.io/hostname": "k3s-agent-2"},
                "affinity": {},
                "nfd": {"enabled": False},
                "gfd": {"enabled": False},
                "resources": {
                    "requests": {"cpu": "10m", "memory": "16Mi"},
                    "limits": {"cpu": "100m", "memory": "64Mi"},
                },
            },
            ["", "-mps"],
            {f"{CTR}.resources.limits": {"cpu": "100m", "memory": "64Mi"}},
            id="edlundin/homelab apps/nvidia-device-plugin/values.yaml",
        ),
        pytest.param(
            {
                "nodeSelector": {"workload": "ml"},
                "tolerations": [{"key": "workload", "operator": "Equal", "value": "ml", "effect": "NoSchedule"}],
                "runtimeClassName": "nvidia",
            },
            ["", "-mps"],
            {
                f"{PLUGIN}.tolerations": [
                    {"key": "workload", "operator": "Equal", "value": "ml", "effect": "NoSchedule"}
                ]
            },
            id="mirenchaps/home-lab-gitops apps/nvidia-device-plugin/values.yaml",
        ),
        pytest.param(
            {
                "image": {"repository": "nvcr.io/nvidia/k8s-device-plugin", "tag": "v0.17.2"},
                "runtimeClassName": "nvidia",
                "nodeSelector": {"feature.node.kubernetes.io/custom-nvidia-gpu": "true"},
            },
            ["", "-mps"],
            {f"{PLUGIN}.nodeSelector": {"feature.node.kubernetes.io/custom-nvidia-gpu": "true"}},
            id="axeII/home-ops kubernetes/apps/kube-system/nvidia-device-plugin/app/helmrelease.yaml",
        ),
        pytest.param(
            {
                "config": {"name": "nvidia-plugin-configs"},
                "gfd": {"enabled": True},
                "nfd": {"enabled": False},
                "resources": {"requests": {"cpu": "100m"}, "limits": {"memory": "512Mi"}},
            },
            ["", "-gfd", "-mps"],
            {f"{GFD}.containers[gpu-feature-discovery-ctr].env[GFD_PUBLISH].value": ABSENT},
            id="jahanson/theshire kubernetes/apps/kube-system/nvidia-device-plugin/app/helmrelease.yaml",
        ),
        pytest.param(
            {
                "runtimeClassName": "nvidia",
                "gfd": {"enabled": True},
                "nfd": {"enabled": False},
                "tolerations": [TOLERATED],
                "affinity": {
                    "nodeAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": {
                            "nodeSelectorTerms": [
                                {"matchExpressions": [{"key": "nvidia.com/gpu", "operator": "Exists"}]}
                            ]
                        }
                    }
                },
            },
            ["", "-gfd", "-mps"],
            {f"{PLUGIN}.tolerations": [TOLERATED], f"{GFD}.runtimeClassName": "nvidia"},
            id="gavinmcfall/home-ops kubernetes/apps/kube-system/nvidia-device-plugin/app/helmrelease.yaml",
        ),
        pytest.param(
            {
                "runtimeClassName": "nvidia",
                "nodeSelector": {"nvidia.com/gpu.present": "true"},
                "securityContext": {"privileged": True},
                "config": {"map": {"default": shared(4)}},
            },
            ["", "-mps"],
            {f"{PLUGIN}.nodeSelector": {"nvidia.com/gpu.present": "true"}},
            id="jsenecal/home-k3s kubernetes/apps/kube-system/nvidia-device-plugin/app/helmrelease.yaml",
        ),
        pytest.param(
            {"gfd": {"enabled": True}, "cdi": {"nvidiaHookPath": "/usr/bin/nvidia-ctk"}},
            ["", "-gfd", "-mps"],
            {f"{CTR}.env[NVIDIA_CDI_HOOK_PATH].value": "/usr/bin/nvidia-ctk"},
            id="cookew/iaas-cyclops apps/nvidia-device-plugin/values.yaml",
        ),
    ],
)
def test_published_values_work(rendered: Render, values: Values, sets: list[str], facts: dict[str, Any]) -> None:
    assert installed(rendered, values, list(facts)) == (sets, facts)
