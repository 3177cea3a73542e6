"""What several programs share: settings of logs, metrics, config file, hardware and API server, and options."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gpu_core.config.layers import key_path
from gpu_core.config.programs.options import Group, Option, for_key, setting
from gpu_core.config.words import LogFormat, LogLevel


def metrics_address() -> Any:
    """Declare the setting `--metrics-address`, for programs and for those who ask them over HTTP."""
    doc = "Address for /metrics, /healthz and /readyz, such as `:9480`; empty for none."
    return setting("metrics-address", ["METRICS_ADDRESS"], doc, default="", group=Group.OPERATION, ours=True)


def device_plugin_dir() -> Any:
    """Declare the setting `--device-plugin-dir`, for the plugin and for those who ask it over its sockets."""
    doc = "Directory of the plugin's own sockets, which the kubelet must see under the same path."
    return setting(
        "device-plugin-dir",
        ["DEVICE_PLUGIN_DIR"],
        doc,
        default="/var/lib/kubelet/device-plugins",
        group=Group.KUBELET,
        ours=True,
        required=True,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationSettings:
    """What every program knows."""

    log_level: LogLevel = setting(
        "log-level",
        ["LOG_LEVEL"],
        "Least severity that is logged.",
        default=LogLevel.INFO,
        group=Group.OPERATION,
        ours=True,
    )
    log_format: LogFormat = setting(
        "log-format",
        ["LOG_FORMAT"],
        "Log lines as JSON for collectors or as text for people; `auto` is text on a terminal and JSON elsewhere.",
        default=LogFormat.AUTO,
        group=Group.OPERATION,
        ours=True,
    )
    no_color: str = setting(
        "",
        ["NO_COLOR"],
        "Anything but empty: no colours on a terminal, as https://no-color.org describes it.",
        default="",
        group=Group.OPERATION,
        ours=True,
    )
    metrics_address: str = metrics_address()


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfiguredSettings(OperationSettings):
    """What every program knows that reads the config file."""

    config_file: str = setting(
        "config-file",
        ["CONFIG_FILE"],
        "Config file in YAML or JSON; flags and variables win over it.",
        default="",
        group=Group.CONFIGURATION,
    )
    config_strict: bool = setting(
        "config-strict",
        ["CONFIG_STRICT"],
        "Refuse a config file with unknown, misplaced or duplicate keys instead of warning.",
        default=False,
        group=Group.CONFIGURATION,
        ours=True,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class HardwareSettings(ConfiguredSettings):
    """What every program knows that reads hardware."""

    simulated_node: str = setting(
        "simulated-node",
        ["SIMULATED_NODE"],
        "Use a simulated node instead of real GPUs: its name, or a node file.",
        default="",
        group=Group.SIMULATION,
        ours=True,
    )
    simulated_events: str = setting(
        "simulated-events",
        ["SIMULATED_EVENTS"],
        "File whose appended lines happen to the simulated node, such as `event 0 xid=79`.",
        default="",
        group=Group.SIMULATION,
        ours=True,
    )


def kubeconfig() -> Any:
    """Declare the setting `--kubeconfig`, for programs that talk to the API server."""
    doc = "Kubeconfig file; empty for the credentials of the pod."
    return setting("kubeconfig", ["KUBECONFIG"], doc, default="", group=Group.CLUSTER)


def kube_api_qps() -> Any:
    """Declare the setting `--kube-api-qps`."""
    doc = "Requests a second to the API server."
    return setting("kube-api-qps", ["KUBE_API_QPS"], doc, default=5.0, group=Group.CLUSTER)


def kube_api_burst() -> Any:
    """Declare the setting `--kube-api-burst`."""
    doc = "Requests to the API server at once."
    return setting("kube-api-burst", ["KUBE_API_BURST"], doc, default=10, group=Group.CLUSTER)


def mps_root_ctr() -> Any:
    """Declare the setting `--mps-root-ctr`, for programs that work with MPS control daemons."""
    doc = "Directory that MPS daemons and clients share, as this program's own container sees it."
    return setting("mps-root-ctr", ["MPS_ROOT_CTR"], doc, default="/mps", group=Group.DEVICES, ours=True, required=True)


DRIVER_ROOT_IN_CONTAINER = for_key(
    "driver-root-ctr-path",
    "flags.plugin.containerDriverRoot",
    ["DRIVER_ROOT_CTR_PATH", "CONTAINER_DRIVER_ROOT"],
    Group.DEVICES,
    aliases=["container-driver-root"],
)
LIBRARY_PATH = for_key("driver-library-path", "flags.driverLibraryPath", ["DRIVER_LIBRARY_PATH"], Group.DEVICES)
DISCOVERY = for_key(
    "device-discovery-strategy", "flags.deviceDiscoveryStrategy", ["DEVICE_DISCOVERY_STRATEGY"], Group.DEVICES
)
MIG_STRATEGY = for_key("mig-strategy", "flags.migStrategy", ["MIG_STRATEGY"], Group.DEVICES)
CUSTOM_RESOURCES = for_key("custom-resources", "flags.customResources", ["CUSTOM_RESOURCES"], Group.DEVICES)


def sections(*paths: str) -> tuple[tuple[str, ...], ...]:
    """Return the sections of the config at these dotted paths."""
    return tuple(key_path(path) for path in paths)


def flag(name: str, key: str, variables: list[str], group: Group, *aliases: str) -> Option:
    """Return the option for a key below `flags`."""
    return for_key(name, f"flags.{key}", variables, group, aliases=aliases)
