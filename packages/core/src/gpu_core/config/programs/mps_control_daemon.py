"""The MPS control daemon as data: its own settings, and its options, names and examples."""

from __future__ import annotations

from dataclasses import dataclass, replace

from gpu_core.config.programs import settings
from gpu_core.config.programs.options import Program, for_settings
from gpu_core.config.programs.settings import HardwareSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class MpsSettings(HardwareSettings):
    """The MPS control daemon's own settings."""

    mps_root_ctr: str = settings.mps_root_ctr()


MPS_CONTROL_DAEMON: Program[MpsSettings] = Program(
    name="mps-control-daemon",
    commands=("mps-control-daemon",),
    title="NVIDIA MPS Control Daemon",
    doc="Runs CUDA MPS for the resources that the config file shares through it.",
    settings=MpsSettings,
    sections=settings.sections(
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
        settings.MIG_STRATEGY,
        # The original's daemon looks for the driver nowhere but on the loader's path.
        replace(settings.DRIVER_ROOT_IN_CONTAINER, ours=True),
        settings.LIBRARY_PATH,
        settings.CUSTOM_RESOURCES,
        *for_settings(MpsSettings),
    ),
    examples=(
        ("Run MPS as the config file says", "mps-control-daemon --config-file=/config/config.yaml"),
        ("Prepare the shared memory of MPS clients", "mps-control-daemon mount-shm"),
    ),
)
