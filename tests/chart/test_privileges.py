"""Privileges and host paths follow from what the configs may ask for, and from nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from chart.conftest import Render
from chart.rendering import ABSENT, Values

PLUGIN = "DaemonSet/r-nvidia-device-plugin: pod"
GFD = "DaemonSet/r-nvidia-device-plugin-gfd: pod"
MPS = "DaemonSet/r-nvidia-device-plugin-mps: pod"
PLUGIN_CONTEXT = f"{PLUGIN}.containers[nvidia-device-plugin-ctr].securityContext"
GFD_CONTEXT = f"{GFD}.containers[gpu-feature-discovery-ctr].securityContext"

CONFINED: Values = {"readOnlyRootFilesystem": True, "seccompProfile": {"type": "RuntimeDefault"}}
NOTHING: Values = {**CONFINED, "allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
LEAST: Values = {**NOTHING, "runAsUser": 0}
ADMIN: Values = {**CONFINED, "runAsUser": 0, "capabilities": {"drop": ["ALL"], "add": ["SYS_ADMIN"]}}
NOBODY: Values = {**NOTHING, "runAsNonRoot": True, "runAsUser": 65532, "runAsGroup": 65532}
PRIVILEGED: Values = {"runAsUser": 0, "privileged": True, "readOnlyRootFilesystem": True}


def configs(*texts: str, **rest: Any) -> Values:
    """Give values with these config files, the first of them the default."""
    return {"config": {"map": {f"c{i}": text for i, text in enumerate(texts)}, "default": "c0"}, **rest}


MIG = "version: v1\nflags: {migStrategy: mixed}"
PLAIN = "version: v1\nsharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}"
VOLUMES = "flags: {plugin: {deviceListStrategy: volume-mounts}}"


@pytest.mark.parametrize(
    ("values", "context"),
    [
        pytest.param({}, LEAST, id="no config needs no capability"),
        pytest.param({"migStrategy": "none"}, LEAST, id="MIG strategy none needs no capability"),
        pytest.param({"migStrategy": "mixed"}, ADMIN, id="a MIG strategy needs SYS_ADMIN"),
        pytest.param({"deviceListStrategy": "envvar"}, LEAST, id="envvar needs no capability"),
        pytest.param({"deviceListStrategy": "volume-mounts"}, ADMIN, id="volume mounts need SYS_ADMIN"),
        pytest.param({"deviceListStrategy": "envvar,volume-mounts"}, ADMIN, id="also among words joined by commas"),
        pytest.param({"deviceListStrategy": ["cdi-cri", "volume-mounts"]}, ADMIN, id="also in a list"),
        pytest.param(configs(PLAIN), LEAST, id="a config without MIG needs no capability"),
        pytest.param(configs("flags: {failOnInitError: false}"), LEAST, id="flags without a MIG strategy mean none"),
        pytest.param(configs(PLAIN, MIG), ADMIN, id="one config of several with MIG suffices"),
        pytest.param(configs("FLAGS: {MIGSTRATEGY: single}"), ADMIN, id="keys of a config are not case-sensitive"),
        pytest.param(configs('{"flags": {"migStrategy": "single"}}'), ADMIN, id="a config in JSON is read as well"),
        pytest.param(configs("flags: {migStrategy: null}"), LEAST, id="null in a config means not given"),
        pytest.param(configs(""), LEAST, id="an empty config asks for nothing"),
        pytest.param(configs(PLAIN, VOLUMES), ADMIN, id="volume mounts in one config suffice"),
        pytest.param(configs(MIG, migStrategy="none"), LEAST, id="the value wins over every config"),
        pytest.param({"config": {"name": "theirs"}}, ADMIN, id="an existing ConfigMap may hold anything"),
        pytest.param(
            {"config": {"name": "theirs", "assume": {"mig": False, "volumeMounts": False}}},
            LEAST,
            id="unless it is said not to",
        ),
        pytest.param({"compatWithCPUManager": True}, PRIVILEGED, id="the CPU manager's companion is privileged"),
        pytest.param({"securityContext": {"runAsUser": 7}}, {"runAsUser": 7}, id="the user's context wins"),
        pytest.param(
            {"securityContext": {"runAsUser": 7}, "devicePlugin": {"securityContext": {"runAsUser": 8}}},
            {"runAsUser": 8},
            id="the component's own wins over that",
        ),
        pytest.param({"simulatedNode": "a100-mig", "migStrategy": "mixed"}, LEAST, id="a simulated node needs nothing"),
    ],
)
def test_the_plugin_gets_what_its_configs_need(rendered: Render, values: Values, context: Values) -> None:
    assert rendered(values).at(PLUGIN_CONTEXT) == context


@pytest.mark.parametrize(
    ("values", "context"),
    [
        pytest.param({}, ADMIN, id="the vGPU record is read with SYS_ADMIN"),
        pytest.param({"gfd": {"vgpuDetection": False}}, NOBODY, id="without it, an ordinary user suffices"),
        pytest.param({"gfd": {"vgpuDetection": False, "output": "file"}}, LEAST, id="NFD's directory is root's"),
        pytest.param({"gfd": {"vgpuDetection": False}, "migStrategy": "single"}, ADMIN, id="MIG needs SYS_ADMIN"),
        pytest.param({"simulatedNode": "h100x8"}, NOBODY, id="a simulated node needs nothing"),
        pytest.param({"gfd": {"securityContext": {"privileged": True}}}, {"privileged": True}, id="the user's wins"),
    ],
)
def test_feature_discovery_gets_what_its_labels_need(rendered: Render, values: Values, context: Values) -> None:
    values = {**values, "gfd": {"enabled": True, **values.get("gfd", {})}}

    assert rendered(values).at(GFD_CONTEXT) == context


def volumes(rendering: Any, pod: str) -> dict[str, str]:
    """Give the volumes of a pod with the host path of each, or its kind."""
    found = rendering.at(f"{pod}.volumes")
    return (
        {} if found is ABSENT else {v["name"]: v.get("hostPath", {}).get("path", min(set(v) - {"name"})) for v in found}
    )


KUBELET = {"kubelet-device-plugins-dir": "/var/lib/kubelet/device-plugins"}
CONFIG = {"available-configs": "configMap", "config": "emptyDir"}
CDI = {"cdi-root": "/var/run/cdi"}
MPS_DIRECTORIES = {"mps-root": "/run/nvidia/mps", "mps-shm": "/run/nvidia/mps/shm"}
SHARED = "sharing: {mps: {resources: [{name: nvidia.com/gpu, replicas: 2}]}}"


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param({}, KUBELET, id="the kubelet's sockets, always"),
        pytest.param(
            {"kubeletRootDir": "/var/snap/kubelet/"},
            {"kubelet-device-plugins-dir": "/var/snap/kubelet/device-plugins"},
            id="wherever the kubelet lives",
        ),
        pytest.param({"nvidiaDriverRoot": "/run/d"}, {**KUBELET, "driver-root": "/run/d"}, id="a driver root if given"),
        pytest.param(
            {"nvidiaDriverRoot": "/run/d", "simulatedNode": "t4"}, KUBELET, id="but none for a simulated node"
        ),
        pytest.param({"deviceListStrategy": "cdi-cri"}, {**KUBELET, **CDI}, id="the CDI directory for CDI"),
        pytest.param({"deviceListStrategy": ["envvar", "cdi-annotations"]}, {**KUBELET, **CDI}, id="also in a list"),
        pytest.param(
            configs("flags: {plugin: {deviceListStrategy: [envvar, cdi-cri]}}"),
            {**KUBELET, **CONFIG, **CDI},
            id="also when only a config asks for it",
        ),
        pytest.param(configs(PLAIN), {**KUBELET, **CONFIG}, id="time slicing needs no directory"),
        pytest.param(configs(SHARED), {**KUBELET, **CONFIG, **MPS_DIRECTORIES}, id="sharing by MPS needs the daemons'"),
        pytest.param(
            configs(SHARED, mps={"root": "/srv/mps"}),
            {**KUBELET, **CONFIG, "mps-root": "/srv/mps", "mps-shm": "/srv/mps/shm"},
            id="wherever they are",
        ),
        pytest.param(
            configs("sharing: {mps: {resources: [{name: nvidia.com/gpu, replicas: 1}]}}"),
            {**KUBELET, **CONFIG},
            id="not where one replica shares nothing",
        ),
        pytest.param(configs(SHARED, mps={"enabled": False}), {**KUBELET, **CONFIG}, id="not where MPS is turned off"),
        pytest.param(
            {"config": {"name": "theirs"}},
            {**KUBELET, **CONFIG, **CDI, **MPS_DIRECTORIES},
            id="an existing ConfigMap may ask for all of them",
        ),
        pytest.param(
            {"config": {"name": "theirs", "assume": {"cdi": False, "mps": False}}},
            {**KUBELET, **CONFIG},
            id="unless it is said not to",
        ),
        pytest.param(
            configs(PLAIN, configManager={"mode": "daemonset"}),
            {**KUBELET, "available-configs": "configMap", "config": "/run/nvidia/gpu-r-nvidia-device-plugin"},
            id="a config manager of its own shares a host directory",
        ),
    ],
)
def test_the_plugin_sees_only_the_host_paths_it_needs(rendered: Render, values: Values, expected: Values) -> None:
    assert volumes(rendered(values), PLUGIN) == expected


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param({}, {}, id="labels through the API need no host path"),
        pytest.param(
            {"gfd": {"output": "file"}},
            {"output-dir": "/etc/kubernetes/node-feature-discovery/features.d"},
            id="labels in a file need NFD's directory",
        ),
        pytest.param(
            configs("flags: {useNodeFeatureAPI: false}"),
            {"output-dir": "/etc/kubernetes/node-feature-discovery/features.d", **CONFIG},
            id="also when only a config asks for it",
        ),
        pytest.param({"nvidiaDriverRoot": "/run/d"}, {"driver-root": "/run/d"}, id="a driver root if given"),
    ],
)
def test_feature_discovery_sees_only_the_host_paths_it_needs(
    rendered: Render, values: Values, expected: Values
) -> None:
    values = {**values, "gfd": {"enabled": True, **values.get("gfd", {})}, "nfd": {"enabled": False}}

    assert volumes(rendered(values), GFD) == expected


def test_a_driver_that_is_mounted_later_is_seen(rendered: Render) -> None:
    """As by a driver container that starts, or is updated, after our pods."""
    rendering = rendered({"nvidiaDriverRoot": "/run/d", "gfd": {"enabled": True}})
    mount = {
        "name": "driver-root",
        "mountPath": "/driver-root",
        "mountPropagation": "HostToContainer",
        "readOnly": True,
    }

    assert mount in rendering.at(f"{PLUGIN}.containers[nvidia-device-plugin-ctr].volumeMounts")
    assert mount in rendering.at(f"{GFD}.containers[gpu-feature-discovery-ctr].volumeMounts")


def test_the_mps_daemon_is_privileged_and_mounts_for_the_host(rendered: Render) -> None:
    rendering = rendered({})

    assert rendering.at(f"{MPS}.hostPID") is True
    assert rendering.at(f"{MPS}.containers[mps-control-daemon-ctr].securityContext") == PRIVILEGED
    assert rendering.at(f"{MPS}.initContainers[mps-control-daemon-mounts].volumeMounts") == [
        {"name": "mps-root", "mountPath": "/mps", "mountPropagation": "Bidirectional"}
    ]
    assert rendering.at(f"{MPS}.nodeSelector") == {"nvidia.com/mps.capable": "true"}


def test_an_mps_pod_outside_the_host_process_namespace_shares_one_among_its_containers(rendered: Render) -> None:
    rendering = rendered({"mps": {"enableHostPID": False}})

    assert (rendering.at(f"{MPS}.hostPID"), rendering.at(f"{MPS}.shareProcessNamespace")) == (ABSENT, True)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param({}, NOBODY, id="it watches as an ordinary user"),
        pytest.param({"sendSignal": True}, ADMIN, id="to send signals it runs as the program does"),
        pytest.param({"securityContext": {"runAsUser": 9}}, {"runAsUser": 9}, id="the user's context wins"),
    ],
)
def test_a_config_manager_beside_the_plugin(rendered: Render, values: Values, expected: Values) -> None:
    rendering = rendered(configs(MIG, configManager=values))

    assert rendering.at(f"{PLUGIN}.containers[nvidia-device-plugin-sidecar].securityContext") == expected
    assert rendering.at(f"{PLUGIN}.shareProcessNamespace") == (True if values.get("sendSignal") else ABSENT)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param({}, {"": False, "-gfd": True, "-mps": False}, id="without configs only labels need the API"),
        pytest.param(
            {"gfd": {"output": "file"}}, {"": False, "-gfd": False, "-mps": False}, id="not in a file, though"
        ),
        pytest.param(configs(PLAIN), {"": True, "-gfd": True, "-mps": True}, id="a config manager reads the Node"),
        pytest.param(
            configs(PLAIN, configManager={"mode": "daemonset"}),
            {"": False, "-gfd": True, "-mps": False, "-config": True},
            id="one of its own leaves the others without a token",
        ),
        pytest.param(
            {"devicePlugin": {"nodeEvents": True}}, {"": True, "-gfd": True, "-mps": False}, id="Events need the API"
        ),
        pytest.param(
            {"devicePlugin": {"nodeCondition": "GpuUnhealthy"}},
            {"": True, "-gfd": True, "-mps": False},
            id="a node condition needs the API",
        ),
        pytest.param(
            {"devicePlugin": {"removeTaint": "example.com/gpu-not-ready"}},
            {"": True, "-gfd": True, "-mps": False},
            id="a taint is removed through the API",
        ),
    ],
)
def test_only_pods_that_talk_to_the_api_server_carry_a_token(
    rendered: Render, values: Values, expected: Values
) -> None:
    rendering = rendered({**values, "gfd": {"enabled": True, **values.get("gfd", {})}})
    tokens = {
        item["metadata"]["name"].removeprefix("r-nvidia-device-plugin"): item["spec"]["template"]["spec"][
            "automountServiceAccountToken"
        ]
        for item in rendering.objects
        if item["kind"] == "DaemonSet"
    }

    assert tokens == expected
