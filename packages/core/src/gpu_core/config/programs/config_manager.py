"""config-manager as data: its settings, options, names and examples."""

from __future__ import annotations

from dataclasses import dataclass

from gpu_core.config.programs import settings
from gpu_core.config.programs.options import Group, Program, for_settings, setting
from gpu_core.config.programs.settings import OperationSettings
from gpu_core.config.words import FallbackStrategy


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigManagerSettings(OperationSettings):
    """config-manager's settings; it reads no config file itself. `signal` is a signal number."""

    kubeconfig: str = settings.kubeconfig()
    kube_api_qps: float = settings.kube_api_qps()
    kube_api_burst: int = settings.kube_api_burst()
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


CONFIG_MANAGER: Program[ConfigManagerSettings] = Program(
    name="config-manager",
    commands=("config-manager",),
    title="Config Manager",
    doc="Points the config file at the one that the node's label names, and signals the program that uses it.",
    settings=ConfigManagerSettings,
    subcommands=("check-config",),
    options=for_settings(ConfigManagerSettings),
    examples=(
        (
            "Follow the label of node a",
            "config-manager --node-name=a --config-file-srcdir=/available --config-file-dst=/config/config.yaml",
        ),
    ),
)
