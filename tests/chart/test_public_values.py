"""Values that people have published for NVIDIA's chart: each works here, with our image given on top.

The ids name the repository and the file. Keys and values are theirs; what they leave at its default is left out, and
copies of NVIDIA's whole file are told as that file and what was changed in it.
"""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from chart.conftest import Render
from chart.rendering import ABSENT, Values, merged
from chart.test_releases import IMAGE, RELEASES

PLUGIN = "DaemonSet/r-nvidia-device-plugin: pod"
GFD = "DaemonSet/r-nvidia-device-plugin-gfd: pod"
FINDER = "DaemonSet/r-nvidia-device-plugin-gfd-finder: pod"
CTR = f"{PLUGIN}.containers[nvidia-device-plugin-ctr]"
NO_SHARING = """
version: v1
flags:
  migStrategy: "none"
  failOnInitError: true
  nvidiaDriverRoot: "/"
  plugin:
    passDeviceSpecs: false
    deviceListStrategy: "envvar"
    deviceIDStrategy: "uuid"
"""
HELM_RELEASE = "kubernetes/apps/kube-system/nvidia-device-plugin/app/helmrelease.yaml"
TOLERATED: Values = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}


def shared(replicas: int) -> str:
    """Give a config that shares each GPU by time."""
    return yaml.safe_dump(
        {
            "version": "v1",
            "flags": {"migStrategy": "none"},
            "sharing": {
                "timeSlicing": {
                    "renameByDefault": False,
                    "failRequestsGreaterThanOne": False,
                    "resources": [{"name": "nvidia.com/gpu", "replicas": replicas}],
                }
            },
        }
    )


def required(expression: Values) -> Values:
    """Give the affinity to nodes with this label."""
    terms = [{"matchExpressions": [expression]}]
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}


def release(name: str, changes: Values) -> Values:
    """Give the whole values file of a release, with what somebody changed in it."""
    values: Values = yaml.safe_load((RELEASES / f"{name}.yaml").read_text())
    return merged(values, changes)


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
            id=f"tscibilia/home-ops {HELM_RELEASE}",
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
            id=f"jlengelbrecht/prox-ops {HELM_RELEASE}",
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
            id=f"hydazz/home-ops {HELM_RELEASE}",
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
            id=f"mitchross/k8s-homelab-cluster-v2 {HELM_RELEASE}",
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
            id=f"d4rkfella/home-ops {HELM_RELEASE}",
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
            id=f"jhart99/home-ops {HELM_RELEASE}",
        ),
    ],
)
def test_published_values_work(rendered: Render, values: Values, sets: list[str], facts: dict[str, Any]) -> None:
    rendering = rendered(merged(values, IMAGE))
    names = [name.removeprefix("r-nvidia-device-plugin") for name in rendering.kinds()["DaemonSet"]]

    assert (names, {path: rendering.at(path) for path in facts}) == (sets, facts)
