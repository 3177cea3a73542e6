"""gpu-feature-discovery as data: its own settings, and its options, names and examples."""

from __future__ import annotations

from dataclasses import dataclass

from gpu_core.config.programs import settings
from gpu_core.config.programs.options import Group, Program, for_settings, setting
from gpu_core.config.programs.settings import HardwareSettings
from gpu_core.config.words import LabelDestination, LabelFormat


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
    kubeconfig: str = settings.kubeconfig()
    kube_api_qps: float = settings.kube_api_qps()
    kube_api_burst: int = settings.kube_api_burst()
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
        "Where the labels go while the cluster has no NodeFeature resource; without it they wait.",
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


GPU_FEATURE_DISCOVERY: Program[GfdSettings] = Program(
    name="gpu-feature-discovery",
    commands=("gpu-feature-discovery", "gfd"),
    title="GPU Feature Discovery",
    doc="Describes the node's GPUs as node labels.",
    settings=GfdSettings,
    sections=settings.sections(
        "flags.migStrategy",
        "flags.failOnInitError",
        "flags.useNodeFeatureAPI",
        "flags.deviceDiscoveryStrategy",
        "flags.customResources",
        "flags.driverLibraryPath",
        "flags.plugin.containerDriverRoot",
        "flags.gfd",
        "version",
        "resources",
        "devices",
    ),
    subcommands=("topology", "simulated-nodes", "check-config"),
    discovery=("auto", "nvml", "tegra", "vfio"),
    late=settings.sections("flags.migStrategy"),
    options=(
        settings.flag("mig-strategy", "migStrategy", ["GFD_MIG_STRATEGY", "MIG_STRATEGY"], Group.DEVICES),
        settings.flag(
            "fail-on-init-error", "failOnInitError", ["GFD_FAIL_ON_INIT_ERROR", "FAIL_ON_INIT_ERROR"], Group.DEVICES
        ),
        settings.flag("oneshot", "gfd.oneshot", ["GFD_ONESHOT"], Group.LABELS),
        settings.flag("no-timestamp", "gfd.noTimestamp", ["GFD_NO_TIMESTAMP"], Group.LABELS),
        settings.flag("sleep-interval", "gfd.sleepInterval", ["GFD_SLEEP_INTERVAL"], Group.LABELS),
        settings.flag("output-file", "gfd.outputFile", ["GFD_OUTPUT_FILE"], Group.LABELS, "output", "o"),
        settings.flag("machine-type-file", "gfd.machineTypeFile", ["GFD_MACHINE_TYPE_FILE"], Group.LABELS),
        settings.flag("extra-labels", "gfd.extraLabels", ["GFD_EXTRA_LABELS"], Group.LABELS),
        settings.flag(
            "use-node-feature-api",
            "useNodeFeatureAPI",
            ["GFD_USE_NODE_FEATURE_API", "USE_NODE_FEATURE_API"],
            Group.LABELS,
        ),
        settings.DISCOVERY,
        settings.DRIVER_ROOT_IN_CONTAINER,
        settings.LIBRARY_PATH,
        settings.CUSTOM_RESOURCES,
        *for_settings(GfdSettings),
    ),
    examples=(
        ("Print the labels of this machine", "gfd --oneshot"),
        ("Print those of a simulated node", "gfd --oneshot --simulated-node=t4"),
        ("Write them into a file", "gfd --oneshot --output-file=labels"),
        ("Write a feature file every five minutes", "gfd --use-node-feature-api=false --sleep-interval=5m"),
    ),
)
