"""What each program is told through its environment, and how it is watched."""

from __future__ import annotations

import pytest

from chart.conftest import Render
from chart.rendering import ABSENT, Values, merged
from chart.test_config_manager import BASE, environment
from gpu_core.config.programs.config_manager import CONFIG_MANAGER
from gpu_core.config.programs.device_plugin import DEVICE_PLUGIN
from gpu_core.config.programs.gpu_feature_discovery import GPU_FEATURE_DISCOVERY
from gpu_core.config.programs.mps_control_daemon import MPS_CONTROL_DAEMON
from gpu_core.config.programs.options import Program

PLUGIN = f"DaemonSet/{BASE}: pod.containers[nvidia-device-plugin-ctr]"
GFD = f"DaemonSet/{BASE}-gfd: pod.containers[gpu-feature-discovery-ctr]"
MPS = f"DaemonSet/{BASE}-mps: pod.containers[mps-control-daemon-ctr]"
VISIBLE = {"NVIDIA_VISIBLE_DEVICES": "all", "NVIDIA_DRIVER_CAPABILITIES": "compute,utility"}
PLUGIN_ALWAYS = {"NODE_NAME": "spec.nodeName", **VISIBLE, "METRICS_ADDRESS": ":9480"}
GFD_ALWAYS = {
    "NODE_NAME": "spec.nodeName",
    "NAMESPACE": "metadata.namespace",
    "POD_NAME": "metadata.name",
    "METRICS_ADDRESS": ":9481",
}


@pytest.mark.parametrize(
    ("values", "more"),
    [
        pytest.param({}, {}, id="nothing given leaves everything to the program"),
        pytest.param(
            {"failOnInitError": False, "gdrcopyEnabled": False, "compatWithCPUManager": False},
            {"FAIL_ON_INIT_ERROR": "false", "GDRCOPY_ENABLED": "false", "PASS_DEVICE_SPECS": "false"},
            id="false is something given",
        ),
        pytest.param({"migStrategy": "", "nvidiaDriverRoot": "", "deviceListStrategy": ""}, {}, id="empty text is not"),
        pytest.param(
            {
                "migStrategy": "mixed",
                "deviceListStrategy": ["envvar", "cdi-cri"],
                "deviceIDStrategy": "index",
                "deviceDiscoveryStrategy": "nvml",
                "nvidiaDriverRoot": "/run/nvidia/driver",
                "driverLibraryPath": "/opt/nvidia/lib64",
                "nvidiaDevRoot": "/",
                "gdsEnabled": True,
                "mofedEnabled": True,
                "cdi": {"nvidiaHookPath": "/usr/bin/nvidia-cdi-hook", "featureFlags": "a,b"},
            },
            {
                "NVIDIA_MIG_MONITOR_DEVICES": "all",
                "MIG_STRATEGY": "mixed",
                "DEVICE_LIST_STRATEGY": "envvar,cdi-cri",
                "DEVICE_ID_STRATEGY": "index",
                "DEVICE_DISCOVERY_STRATEGY": "nvml",
                "NVIDIA_DRIVER_ROOT": "/run/nvidia/driver",
                "DRIVER_LIBRARY_PATH": "/opt/nvidia/lib64",
                "NVIDIA_DEV_ROOT": "/",
                "GDS_ENABLED": "true",
                "MOFED_ENABLED": "true",
                "NVIDIA_CDI_HOOK_PATH": "/usr/bin/nvidia-cdi-hook",
                "CDI_FEATURE_FLAGS": "a,b",
            },
            id="values become variables",
        ),
        pytest.param({"config": {"assume": {"mps": True}}}, {"MPS_ROOT": "/run/nvidia/mps"}, id="MPS needs its root"),
        pytest.param(
            {"logLevel": "debug", "logFormat": "text", "configStrict": True},
            {"LOG_LEVEL": "debug", "LOG_FORMAT": "text", "CONFIG_STRICT": "true"},
            id="logs and strictness",
        ),
        pytest.param({"simulatedNode": "h100x8"}, {"SIMULATED_NODE": "h100x8"}, id="a simulated node"),
        pytest.param(
            {
                "devicePlugin": {
                    "xidPolicy": "catalogue",
                    "nodeEvents": True,
                    "nodeCondition": "GpuUnhealthy",
                    "removeTaint": "a.b/c",
                }
            },
            {
                "XID_POLICY": "catalogue",
                "NODE_EVENTS": "true",
                "NODE_CONDITION": "GpuUnhealthy",
                "REMOVE_TAINT": "a.b/c",
            },
            id="reports about the node",
        ),
        pytest.param(
            {"devicePlugin": {"env": [{"name": "A", "value": "1"}, {"name": "METRICS_ADDRESS", "value": ":1"}]}},
            {"A": "1", "METRICS_ADDRESS": ":1"},
            id="the user's variables replace ours",
        ),
    ],
)
def test_the_plugin_is_told_what_is_given(rendered: Render, values: Values, more: Values) -> None:
    assert environment(rendered(values), PLUGIN) == {**PLUGIN_ALWAYS, **more}


@pytest.mark.parametrize(
    ("values", "more"),
    [
        pytest.param({}, {}, id="nothing given leaves everything to the program"),
        pytest.param(
            {"noTimestamp": True, "sleepInterval": "30s"},
            {"GFD_NO_TIMESTAMP": "true", "GFD_SLEEP_INTERVAL": "30s"},
            id="the values at the top",
        ),
        pytest.param(
            {"noTimestamp": True, "sleepInterval": "30s", "gfd": {"noTimestamp": False, "sleepInterval": "infinite"}},
            {"GFD_NO_TIMESTAMP": "false", "GFD_SLEEP_INTERVAL": "infinite"},
            id="those of gfd win",
        ),
        pytest.param({"sleepInterval": 90}, {"GFD_SLEEP_INTERVAL": "90s"}, id="a bare number counts seconds"),
        pytest.param({"gfd": {"output": "node"}}, {"GFD_PUBLISH": "node"}, id="labels straight to the node"),
        pytest.param({"gfd": {"output": "nodeFeature"}}, {"GFD_PUBLISH": "nodefeature"}, id="labels through NFD"),
        pytest.param({"gfd": {"output": "file"}}, {"GFD_PUBLISH": "file"}, id="labels in a file"),
        pytest.param(
            {"migStrategy": "single", "failOnInitError": True, "deviceDiscoveryStrategy": "tegra"},
            {
                "NVIDIA_MIG_MONITOR_DEVICES": "all",
                "MIG_STRATEGY": "single",
                "FAIL_ON_INIT_ERROR": "true",
                "DEVICE_DISCOVERY_STRATEGY": "tegra",
            },
            id="what concerns hardware",
        ),
    ],
)
def test_feature_discovery_is_told_what_is_given(rendered: Render, values: Values, more: Values) -> None:
    values = {**values, "gfd": {"enabled": True, **values.get("gfd", {})}, "nfd": {"enabled": False}}

    assert environment(rendered(values), GFD) == {**GFD_ALWAYS, **more}


def test_the_mps_daemon_is_told_what_is_given(rendered: Render) -> None:
    assert environment(rendered({"migStrategy": "single"}), MPS) == {
        **VISIBLE,
        "NVIDIA_MIG_MONITOR_DEVICES": "all",
        "MIG_STRATEGY": "single",
        "METRICS_ADDRESS": ":9482",
    }


@pytest.mark.parametrize(
    ("container", "port"),
    [
        pytest.param(PLUGIN, 9480, id="the plugin"),
        pytest.param(GFD, 9481, id="feature discovery"),
        pytest.param(MPS, 9482, id="the MPS daemon"),
    ],
)
def test_every_program_is_probed_at_a_port_of_its_own(rendered: Render, container: str, port: int) -> None:
    rendering = rendered({"gfd": {"enabled": True}})

    assert rendering.at(f"{container}.ports") == [{"name": "metrics", "containerPort": port}]
    assert rendering.at(f"{container}.livenessProbe.httpGet") == {"path": "/healthz", "port": "metrics"}
    assert rendering.at(f"{container}.readinessProbe.httpGet") == {"path": "/readyz", "port": "metrics"}


@pytest.mark.parametrize(
    ("host", "address", "probed"),
    [
        pytest.param("", "[$(HOST_IP)]:9480", ABSENT, id="on the node's own address, in brackets for IPv6"),
        pytest.param("127.0.0.1", "127.0.0.1:9480", "127.0.0.1", id="for the node alone"),
        pytest.param("fd00::1", "[fd00::1]:9480", "fd00::1", id="on an IPv6 address of the user's"),
        # Nobody listens here.
        pytest.param("0.0.0.0", "0.0.0.0:9480", ABSENT, id="on all, which no probe can ask"),  # noqa: S104
        pytest.param("::", "[::]:9480", ABSENT, id="on all, with IPv6"),
    ],
)
def test_in_the_hosts_network_a_program_listens_on_one_address(
    rendered: Render, host: str, address: str, probed: object
) -> None:
    rendering = rendered({"devicePlugin": {"enableHostNetwork": True}, "metrics": {"host": host}})
    told = environment(rendering, PLUGIN)
    names = [entry["name"] for entry in rendering.at(f"{PLUGIN}.env")]

    assert told["METRICS_ADDRESS"] == address
    assert [told.get("HOST_IP")] == [None if host else "status.hostIP"]
    assert "HOST_IP" not in names or names.index("HOST_IP") < names.index("METRICS_ADDRESS")
    assert {rendering.at(f"{PLUGIN}.{probe}.httpGet.host") for probe in ("livenessProbe", "readinessProbe")} == {probed}
    assert environment(rendering, MPS)["METRICS_ADDRESS"] == ":9482"


@pytest.mark.parametrize("component", ["devicePlugin", "gfd", "mps", "configManager"])
def test_every_component_has_its_own_port_in_the_hosts_network(rendered: Render, component: str) -> None:
    suffix, name = {
        "devicePlugin": ("", "nvidia-device-plugin-ctr"),
        "gfd": ("-gfd", "gpu-feature-discovery-ctr"),
        "mps": ("-mps", "mps-control-daemon-ctr"),
        "configManager": ("-config", "gpu-config-manager-ctr"),
    }[component]
    values: Values = {"gfd": {"enabled": True}, "config": {"map": {"default": ""}}}
    values["configManager"] = {"mode": "daemonset"}
    rendering = rendered(merged(values, {component: {"enableHostNetwork": True}}))
    port = rendering.at(f"DaemonSet/{BASE}{suffix}: pod.containers[{name}].ports")[0]["containerPort"]

    assert environment(rendering, f"DaemonSet/{BASE}{suffix}: pod.containers[{name}]")["METRICS_ADDRESS"] == (
        f"[$(HOST_IP)]:{port}"
    )


def test_without_metrics_there_are_no_probes(rendered: Render) -> None:
    container = rendered({"metrics": {"enabled": False}}).at(PLUGIN)

    assert {"ports", "livenessProbe", "readinessProbe"} & set(container) == set()
    assert "METRICS_ADDRESS" not in str(container)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param(
            {"probes": {"liveness": None}}, (ABSENT, {"path": "/readyz", "port": "metrics"}), id="no liveness"
        ),
        pytest.param(
            {"probes": {"readiness": None}}, ({"path": "/healthz", "port": "metrics"}, ABSENT), id="no readiness"
        ),
    ],
)
def test_a_probe_can_be_left_away(rendered: Render, values: Values, expected: tuple[object, object]) -> None:
    rendering = rendered(values)

    assert tuple(rendering.at(f"{PLUGIN}.{probe}.httpGet") for probe in ("livenessProbe", "readinessProbe")) == expected


# Values under which the chart sets every variable that it knows.
TALKATIVE: Values = {
    **dict.fromkeys(("compatWithCPUManager", "failOnInitError", "gdrcopyEnabled", "gdsEnabled", "mofedEnabled"), True),
    **dict.fromkeys(("noTimestamp", "configStrict"), True),
    **dict.fromkeys(("nvidiaDriverRoot", "driverLibraryPath", "nvidiaDevRoot"), "/x"),
    "migStrategy": "single",
    "deviceListStrategy": "envvar",
    "deviceIDStrategy": "uuid",
    "deviceDiscoveryStrategy": "nvml",
    "sleepInterval": "5s",
    "logLevel": "debug",
    "logFormat": "text",
    "simulatedNode": "t4",
    "cdi": {"nvidiaHookPath": "/x", "featureFlags": "x"},
    "config": {"map": {"default": ""}, "default": "default", "assume": {"mps": True}},
    "configManager": {"sendSignal": True, "nodeEvents": True},
    "devicePlugin": {"xidPolicy": "original", "nodeEvents": True, "nodeCondition": "x", "removeTaint": "x"},
    "gfd": {"enabled": True, "output": "node"},
    "mps": {"enabled": True},
}
SIDECAR = f"DaemonSet/{BASE}: pod.containers[nvidia-device-plugin-sidecar]"


@pytest.mark.parametrize(
    ("container", "program"),
    [
        pytest.param(PLUGIN, DEVICE_PLUGIN, id="the plugin"),
        pytest.param(GFD, GPU_FEATURE_DISCOVERY, id="feature discovery"),
        pytest.param(MPS, MPS_CONTROL_DAEMON, id="the MPS daemon"),
        pytest.param(SIDECAR, CONFIG_MANAGER, id="the config manager"),
    ],
)
def test_programs_know_every_variable_that_they_are_given(
    rendered: Render, container: str, program: Program[object]
) -> None:
    known = {variable for option in program.options for variable in option.variables}
    given = set(environment(rendered(TALKATIVE), container))

    assert len(given) > 8
    # These three are read by NVIDIA's container runtime.
    assert sorted(v for v in given - known if v not in {*VISIBLE, "NVIDIA_MIG_MONITOR_DEVICES"}) == []
