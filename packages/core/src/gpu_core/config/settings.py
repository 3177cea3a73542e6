"""What a program can be told that has no place in the shared config file, one frozen dataclass for each program."""

from __future__ import annotations

from dataclasses import dataclass

from gpu_core.config import common_settings
from gpu_core.config.common_settings import HardwareSettings, OperationSettings
from gpu_core.config.options import Group, setting
from gpu_core.config.words import FallbackStrategy, LabelDestination, LabelFormat


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginSettings(HardwareSettings):
    """The device plugin's own settings.

    `cdi_feature_flags` and `cdi_disable_hooks` go to the CDI specifications as they are. The two health check texts
    are None when their variable is not defined, which differs from an empty one.
    """

    kubeconfig: str = common_settings.kubeconfig()
    kube_api_qps: float = common_settings.kube_api_qps()
    kube_api_burst: int = common_settings.kube_api_burst()
    kubelet_socket: str = setting(
        "kubelet-socket",
        ["KUBELET_SOCKET"],
        "Socket on which the kubelet accepts registrations; empty to serve without registering.",
        default="/var/lib/kubelet/device-plugins/kubelet.sock",
        group=Group.KUBELET,
    )
    device_plugin_dir: str = common_settings.device_plugin_dir()
    cdi_feature_flags: tuple[str, ...] = setting(
        "cdi-feature-flags",
        ["CDI_FEATURE_FLAGS"],
        "Features to switch on in the CDI specifications.",
        default=(),
        group=Group.CONTAINERS,
    )
    cdi_disable_hooks: tuple[str, ...] = setting(
        "cdi-disable-hooks",
        ["CDI_DISABLE_HOOKS"],
        "Hooks to leave out of the CDI specifications; `all` for every one.",
        default=(),
        group=Group.CONTAINERS,
    )
    disable_healthchecks: str | None = setting(
        "",
        ["DP_DISABLE_HEALTHCHECKS"],
        "XIDs that do not make a device unhealthy, separated by commas, besides those ignored by `health`; `all` or "
        "`xids` for all of them.",
        default=None,
        group=Group.DEVICES,
    )
    enable_healthchecks: str | None = setting(
        "",
        ["DP_ENABLE_HEALTHCHECKS"],
        "XIDs that make a device unhealthy whatever else says; the same syntax.",
        default=None,
        group=Group.DEVICES,
    )
    mps_root_ctr: str = common_settings.mps_root_ctr()
    node_name: str = setting(
        "node-name",
        ["NODE_NAME"],
        "Node on which Events and the condition are reported, and whose taint is removed.",
        default="",
        group=Group.CLUSTER,
        ours=True,
    )
    node_events: bool = setting(
        "node-events",
        ["NODE_EVENTS"],
        "Report sick GPUs as Kubernetes Events of the node.",
        default=False,
        group=Group.CLUSTER,
        ours=True,
    )
    node_condition: str = setting(
        "node-condition",
        ["NODE_CONDITION"],
        "Type of a node condition that tells whether GPUs are sick, such as `GpuUnhealthy`; empty for none.",
        default="",
        group=Group.CLUSTER,
        ours=True,
    )
    remove_taint: str = setting(
        "remove-taint",
        ["REMOVE_TAINT"],
        "Key of a taint to take off the node once the kubelet follows every resource; empty for none.",
        default="",
        group=Group.CLUSTER,
        ours=True,
    )

    @property
    def uses_cluster(self) -> bool:
        """Whether the API server is asked for anything."""
        return bool(self.node_events or self.node_condition or self.remove_taint)


@dataclass(frozen=True, slots=True, kw_only=True)
class GfdSettings(HardwareSettings):
    """gpu-feature-discovery's own settings. `publish` is None when the config decides."""

    config_file: str = setting(
        "config-file",
        ["GFD_CONFIG_FILE", "CONFIG_FILE"],
        "Config file in YAML or JSON; flags and variables win over it.",
        default="",
        group=Group.CONFIGURATION,
    )
    kubeconfig: str = common_settings.kubeconfig()
    kube_api_qps: float = common_settings.kube_api_qps()
    kube_api_burst: int = common_settings.kube_api_burst()
    namespace: str = setting(
        "namespace", ["NAMESPACE"], "Namespace of the NodeFeature object.", default="default", group=Group.CLUSTER
    )
    node_name: str = setting(
        "node-name", ["NODE_NAME"], "Node that the labels belong to.", default="", group=Group.CLUSTER
    )
    pod_name: str = setting(
        "pod-name",
        ["POD_NAME"],
        "Our own pod, from which the NodeFeature object's owners are found.",
        default="",
        group=Group.CLUSTER,
    )
    publish: LabelDestination | None = setting(
        "publish",
        ["GFD_PUBLISH"],
        "Where the labels go; without it, --use-node-feature-api and --output-file decide.",
        default=None,
        group=Group.LABELS,
        ours=True,
    )
    publish_fallback: LabelDestination | None = setting(
        "publish-fallback",
        ["GFD_PUBLISH_FALLBACK"],
        "Where the labels go while the cluster has no NodeFeature resource: file or node; without it they wait.",
        default=None,
        group=Group.LABELS,
        ours=True,
    )
    keep_output_file: bool = setting(
        "keep-output-file",
        ["GFD_KEEP_OUTPUT_FILE"],
        "Leave the output file in place at the end.",
        default=False,
        group=Group.LABELS,
        ours=True,
    )
    format: LabelFormat = setting(
        "format",
        ["GFD_FORMAT"],
        "Form of the labels on standard output.",
        default=LabelFormat.LABELS,
        group=Group.LABELS,
        ours=True,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class MpsSettings(HardwareSettings):
    """The MPS control daemon's own settings."""

    mps_root_ctr: str = common_settings.mps_root_ctr()


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigManagerSettings(OperationSettings):
    """config-manager's settings; it reads no config file itself. `signal` is a signal number."""

    kubeconfig: str = common_settings.kubeconfig()
    kube_api_qps: float = common_settings.kube_api_qps()
    kube_api_burst: int = common_settings.kube_api_burst()
    oneshot: bool = setting(
        "oneshot", ["ONESHOT"], "Choose a config once and end.", default=False, group=Group.SELECTION
    )
    node_name: str = setting(
        "node-name", ["NODE_NAME"], "Node whose label is watched.", default="", group=Group.CLUSTER, required=True
    )
    node_label: str = setting(
        "node-label",
        ["NODE_LABEL"],
        "Label that names the node's config.",
        default="nvidia.com/device-plugin.config",
        group=Group.SELECTION,
        required=True,
    )
    config_file_srcdir: str = setting(
        "config-file-srcdir",
        ["CONFIG_FILE_SRCDIR"],
        "Directory with one file for each config.",
        default="",
        group=Group.SELECTION,
        required=True,
    )
    config_file_dst: str = setting(
        "config-file-dst",
        ["CONFIG_FILE_DST"],
        "Link that is pointed at the chosen file.",
        default="",
        group=Group.SELECTION,
        required=True,
    )
    default_config: str = setting(
        "default-config", ["DEFAULT_CONFIG"], "Config of nodes without the label.", default="", group=Group.SELECTION
    )
    fallback_strategies: tuple[FallbackStrategy, ...] = setting(
        "fallback-strategies",
        ["FALLBACK_STRATEGIES"],
        "What to try in turn without label and default: the config called `default`, the only one there is, or none.",
        default=(),
        group=Group.SELECTION,
    )
    send_signal: bool = setting(
        "send-signal",
        ["SEND_SIGNAL"],
        "Signal the other program after a change.",
        default=True,
        group=Group.SELECTION,
    )
    signal: int = setting("signal", ["SIGNAL"], "Number of that signal.", default=1, group=Group.SELECTION)
    process_to_signal: str = setting(
        "process-to-signal",
        ["PROCESS_TO_SIGNAL"],
        "Name of the program to signal.",
        default="nvidia-device-plugin",
        group=Group.SELECTION,
    )
    skip_config_check: bool = setting(
        "skip-config-check",
        ["SKIP_CONFIG_CHECK"],
        "Use a config file without checking it first.",
        default=False,
        group=Group.SELECTION,
        ours=True,
    )
    node_events: bool = setting(
        "node-events",
        ["NODE_EVENTS"],
        "Report changed and refused configs as Kubernetes Events of the node.",
        default=False,
        group=Group.CLUSTER,
        ours=True,
    )
