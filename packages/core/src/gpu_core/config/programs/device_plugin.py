"""The device plugin as data: its own settings, and its options, names and examples."""

from __future__ import annotations

from dataclasses import dataclass

from gpu_core.config.programs import settings
from gpu_core.config.programs.options import Group, Program, for_key, for_settings, setting
from gpu_core.config.programs.settings import HardwareSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginSettings(HardwareSettings):
    """The device plugin's own settings.

    `cdi_feature_flags` and `cdi_disable_hooks` go to the CDI specifications as they are. The two health check texts
    are None when their variable is not defined, which differs from an empty one.
    """

    kubeconfig: str = settings.kubeconfig()
    kube_api_qps: float = settings.kube_api_qps()
    kube_api_burst: int = settings.kube_api_burst()
    kubelet_socket: str = setting(
        "kubelet-socket",
        ["KUBELET_SOCKET"],
        "Socket on which the kubelet accepts registrations; empty to serve without registering.",
        default="/var/lib/kubelet/device-plugins/kubelet.sock",
        group=Group.KUBELET,
    )
    device_plugin_dir: str = settings.device_plugin_dir()
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
    mps_root_ctr: str = settings.mps_root_ctr()
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
        "Report unhealthy GPUs as Kubernetes Events of the node.",
        default=False,
        group=Group.CLUSTER,
        ours=True,
    )
    node_condition: str = setting(
        "node-condition",
        ["NODE_CONDITION"],
        "Type of a node condition that tells whether GPUs are unhealthy, such as `GpuUnhealthy`; empty for none.",
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


DEVICE_PLUGIN: Program[PluginSettings] = Program(
    name="nvidia-device-plugin",
    commands=("nvidia-device-plugin",),
    title="NVIDIA Device Plugin",
    doc="Advertises the node's GPUs to the kubelet and tells it what a container needs to use them.",
    settings=PluginSettings,
    sections=settings.sections(
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
        settings.MIG_STRATEGY,
        settings.flag("fail-on-init-error", "failOnInitError", ["FAIL_ON_INIT_ERROR"], Group.DEVICES),
        settings.flag("driver-root", "nvidiaDriverRoot", ["NVIDIA_DRIVER_ROOT"], Group.DEVICES, "nvidia-driver-root"),
        settings.flag("dev-root", "nvidiaDevRoot", ["NVIDIA_DEV_ROOT"], Group.DEVICES, "nvidia-dev-root"),
        settings.flag("pass-device-specs", "plugin.passDeviceSpecs", ["PASS_DEVICE_SPECS"], Group.CONTAINERS),
        settings.flag("device-list-strategy", "plugin.deviceListStrategy", ["DEVICE_LIST_STRATEGY"], Group.CONTAINERS),
        settings.flag("device-id-strategy", "plugin.deviceIDStrategy", ["DEVICE_ID_STRATEGY"], Group.CONTAINERS),
        settings.flag("gdrcopy-enabled", "gdrcopyEnabled", ["GDRCOPY_ENABLED"], Group.CONTAINERS),
        settings.flag("gds-enabled", "gdsEnabled", ["GDS_ENABLED"], Group.CONTAINERS),
        settings.flag("mofed-enabled", "mofedEnabled", ["MOFED_ENABLED"], Group.CONTAINERS),
        settings.flag(
            "cdi-annotation-prefix", "plugin.cdiAnnotationPrefix", ["CDI_ANNOTATION_PREFIX"], Group.CONTAINERS
        ),
        settings.flag(
            "nvidia-cdi-hook-path",
            "plugin.nvidiaCTKPath",
            ["NVIDIA_CDI_HOOK_PATH", "NVIDIA_CTK_PATH"],
            Group.CONTAINERS,
            "nvidia-ctk-path",
        ),
        settings.flag("cdi-extra-names", "plugin.cdiExtraNames", ["CDI_EXTRA_NAMES"], Group.CONTAINERS),
        settings.DRIVER_ROOT_IN_CONTAINER,
        settings.LIBRARY_PATH,
        settings.flag("mps-root", "mpsRoot", ["MPS_ROOT"], Group.DEVICES),
        settings.flag(
            "shared-devices-allocation-policy",
            "plugin.sharedDevicesAllocationPolicy",
            ["SHARED_DEVICES_ALLOCATION_POLICY"],
            Group.KUBELET,
        ),
        settings.DISCOVERY,
        for_key("imex-channel-ids", "imex.channelIDs", ["IMEX_CHANNEL_IDS"], Group.CONTAINERS),
        for_key("imex-required", "imex.required", ["IMEX_REQUIRED"], Group.CONTAINERS),
        settings.CUSTOM_RESOURCES,
        settings.flag("rescan-interval", "plugin.rescanInterval", ["RESCAN_INTERVAL"], Group.DEVICES),
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
