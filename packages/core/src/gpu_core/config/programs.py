"""The four programs as data: names, options and examples. Parsing, help and the reference pages come from here."""

from __future__ import annotations

from dataclasses import replace

from gpu_core.config.layers import key_path
from gpu_core.config.options import Group, Option, Program, for_key, for_settings
from gpu_core.config.settings import ConfigManagerSettings, GfdSettings, MpsSettings, PluginSettings

_DRIVER_ROOT_IN_CONTAINER = for_key(
    "driver-root-ctr-path",
    "flags.plugin.containerDriverRoot",
    ["DRIVER_ROOT_CTR_PATH", "CONTAINER_DRIVER_ROOT"],
    Group.DEVICES,
    aliases=["container-driver-root"],
)
_LIBRARY_PATH = for_key("driver-library-path", "flags.driverLibraryPath", ["DRIVER_LIBRARY_PATH"], Group.DEVICES)
_DISCOVERY = for_key(
    "device-discovery-strategy", "flags.deviceDiscoveryStrategy", ["DEVICE_DISCOVERY_STRATEGY"], Group.DEVICES
)
_MIG_STRATEGY = for_key("mig-strategy", "flags.migStrategy", ["MIG_STRATEGY"], Group.DEVICES)
_CUSTOM_RESOURCES = for_key("custom-resources", "flags.customResources", ["CUSTOM_RESOURCES"], Group.DEVICES)


def _sections(*paths: str) -> tuple[tuple[str, ...], ...]:
    return tuple(key_path(path) for path in paths)


def _flag(name: str, key: str, variables: list[str], group: Group, *aliases: str) -> Option:
    return for_key(name, f"flags.{key}", variables, group, aliases=aliases)


DEVICE_PLUGIN: Program[PluginSettings] = Program(
    name="nvidia-device-plugin",
    commands=("nvidia-device-plugin",),
    title="NVIDIA Device Plugin",
    doc="Advertises the node's GPUs to the kubelet and tells it what a container needs to use them.",
    settings=PluginSettings,
    sections=_sections(
        *(
            f"flags.{name}"
            for name in (
                "migStrategy",
                "failOnInitError",
                "mpsRoot",
                "nvidiaDriverRoot",
                "nvidiaDevRoot",
                "driverLibraryPath",
                "gdrcopyEnabled",
                "gdsEnabled",
                "mofedEnabled",
                "deviceDiscoveryStrategy",
                "customResources",
                "plugin",
            )
        ),
        "version",
        "resources",
        "sharing",
        "imex",
        "devices",
        "health",
    ),
    subcommands=("status", "doctor", "cdi", "simulated-nodes", "check-config"),
    discovery=("auto", "nvml", "tegra"),
    advertises=True,
    options=(
        _MIG_STRATEGY,
        _flag("fail-on-init-error", "failOnInitError", ["FAIL_ON_INIT_ERROR"], Group.DEVICES),
        _flag("driver-root", "nvidiaDriverRoot", ["NVIDIA_DRIVER_ROOT"], Group.DEVICES, "nvidia-driver-root"),
        _flag("dev-root", "nvidiaDevRoot", ["NVIDIA_DEV_ROOT"], Group.DEVICES, "nvidia-dev-root"),
        _flag("pass-device-specs", "plugin.passDeviceSpecs", ["PASS_DEVICE_SPECS"], Group.CONTAINERS),
        _flag("device-list-strategy", "plugin.deviceListStrategy", ["DEVICE_LIST_STRATEGY"], Group.CONTAINERS),
        _flag("device-id-strategy", "plugin.deviceIDStrategy", ["DEVICE_ID_STRATEGY"], Group.CONTAINERS),
        _flag("gdrcopy-enabled", "gdrcopyEnabled", ["GDRCOPY_ENABLED"], Group.CONTAINERS),
        _flag("gds-enabled", "gdsEnabled", ["GDS_ENABLED"], Group.CONTAINERS),
        _flag("mofed-enabled", "mofedEnabled", ["MOFED_ENABLED"], Group.CONTAINERS),
        _flag("cdi-annotation-prefix", "plugin.cdiAnnotationPrefix", ["CDI_ANNOTATION_PREFIX"], Group.CONTAINERS),
        _flag(
            "nvidia-cdi-hook-path",
            "plugin.nvidiaCTKPath",
            ["NVIDIA_CDI_HOOK_PATH", "NVIDIA_CTK_PATH"],
            Group.CONTAINERS,
            "nvidia-ctk-path",
        ),
        _flag("cdi-extra-names", "plugin.cdiExtraNames", ["CDI_EXTRA_NAMES"], Group.CONTAINERS),
        _DRIVER_ROOT_IN_CONTAINER,
        _LIBRARY_PATH,
        _flag("mps-root", "mpsRoot", ["MPS_ROOT"], Group.DEVICES),
        _flag(
            "shared-devices-allocation-policy",
            "plugin.sharedDevicesAllocationPolicy",
            ["SHARED_DEVICES_ALLOCATION_POLICY"],
            Group.KUBELET,
        ),
        _DISCOVERY,
        for_key("imex-channel-ids", "imex.channelIDs", ["IMEX_CHANNEL_IDS"], Group.CONTAINERS),
        for_key("imex-required", "imex.required", ["IMEX_REQUIRED"], Group.CONTAINERS),
        _CUSTOM_RESOURCES,
        _flag("rescan-interval", "plugin.rescanInterval", ["RESCAN_INTERVAL"], Group.DEVICES),
        for_key("xid-policy", "health.xidPolicy", ["XID_POLICY"], Group.DEVICES),
        *for_settings(PluginSettings),
    ),
    examples=(
        ("Serve every GPU of the node", "nvidia-device-plugin"),
        ("Take the settings from a file", "nvidia-device-plugin --config-file=/etc/gpu/config.yaml"),
        (
            "Serve eight simulated GPUs without a kubelet, on a socket in this directory",
            "nvidia-device-plugin --simulated-node=a100x8 --kubelet-socket= --device-plugin-dir=.",
        ),
        ("Check a file and show where each value comes from", "nvidia-device-plugin check-config config.yaml"),
    ),
)

GPU_FEATURE_DISCOVERY: Program[GfdSettings] = Program(
    name="gpu-feature-discovery",
    commands=("gpu-feature-discovery", "gfd"),
    title="GPU Feature Discovery",
    doc="Describes the node's GPUs as node labels.",
    settings=GfdSettings,
    sections=_sections(
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
    late=_sections("flags.migStrategy"),
    options=(
        _flag("mig-strategy", "migStrategy", ["GFD_MIG_STRATEGY", "MIG_STRATEGY"], Group.DEVICES),
        _flag("fail-on-init-error", "failOnInitError", ["GFD_FAIL_ON_INIT_ERROR", "FAIL_ON_INIT_ERROR"], Group.DEVICES),
        _flag("oneshot", "gfd.oneshot", ["GFD_ONESHOT"], Group.LABELS),
        _flag("no-timestamp", "gfd.noTimestamp", ["GFD_NO_TIMESTAMP"], Group.LABELS),
        _flag("sleep-interval", "gfd.sleepInterval", ["GFD_SLEEP_INTERVAL"], Group.LABELS),
        _flag("output-file", "gfd.outputFile", ["GFD_OUTPUT_FILE"], Group.LABELS, "output", "o"),
        _flag("machine-type-file", "gfd.machineTypeFile", ["GFD_MACHINE_TYPE_FILE"], Group.LABELS),
        _flag("extra-labels", "gfd.extraLabels", ["GFD_EXTRA_LABELS"], Group.LABELS),
        _flag(
            "use-node-feature-api",
            "useNodeFeatureAPI",
            ["GFD_USE_NODE_FEATURE_API", "USE_NODE_FEATURE_API"],
            Group.LABELS,
        ),
        _DISCOVERY,
        _DRIVER_ROOT_IN_CONTAINER,
        _LIBRARY_PATH,
        _CUSTOM_RESOURCES,
        *for_settings(GfdSettings),
    ),
    examples=(
        ("Print the labels of this machine", "gfd --oneshot"),
        ("Print those of a simulated node", "gfd --oneshot --simulated-node=t4"),
        ("Write them into a file", "gfd --oneshot --output-file=labels"),
        ("Write a feature file every five minutes", "gfd --use-node-feature-api=false --sleep-interval=5m"),
    ),
)

MPS_CONTROL_DAEMON: Program[MpsSettings] = Program(
    name="mps-control-daemon",
    commands=("mps-control-daemon",),
    title="NVIDIA MPS Control Daemon",
    doc="Runs CUDA MPS for the resources that the config file shares through it.",
    settings=MpsSettings,
    sections=_sections(
        "flags.migStrategy",
        "flags.deviceDiscoveryStrategy",
        "flags.customResources",
        "flags.driverLibraryPath",
        "flags.plugin.containerDriverRoot",
        "version",
        "resources",
        "sharing",
        "devices",
    ),
    subcommands=("mount-shm", "simulated-nodes", "check-config"),
    discovery=("auto", "nvml", "tegra", "vfio"),
    advertises=True,
    options=(
        _MIG_STRATEGY,
        # The original's daemon looks for the driver nowhere but on the loader's path.
        replace(_DRIVER_ROOT_IN_CONTAINER, ours=True),
        _LIBRARY_PATH,
        _CUSTOM_RESOURCES,
        *for_settings(MpsSettings),
    ),
    examples=(
        ("Run MPS as the config file says", "mps-control-daemon --config-file=/config/config.yaml"),
        ("Prepare the shared memory of MPS clients", "mps-control-daemon mount-shm"),
    ),
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

PROGRAMS = (DEVICE_PLUGIN, GPU_FEATURE_DISCOVERY, MPS_CONTROL_DAEMON, CONFIG_MANAGER)
