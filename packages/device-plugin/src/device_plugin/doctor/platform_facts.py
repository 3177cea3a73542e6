"""Through which interface the GPUs are reached, and from which facts that was concluded."""

from __future__ import annotations

from collections.abc import Iterator

from device_plugin.doctor.finding import DRIVERLESS, Finding, Trouble, ok, warning
from device_plugin.doctor.scene import Scene
from gpu_core.config.words import DeviceDiscoveryStrategy
from gpu_core.devices.model import Platform
from gpu_core.devices.node_files import MachineFiles

EXAMINATION = "platform"
_DXG = "/dev/dxg"


def platform(scene: Scene) -> Iterator[Finding]:
    """Say which platform was found and why."""
    inventory = scene.driver.inventory
    strategy = scene.config.flags.device_discovery_strategy
    facts = []
    if scene.simulated:
        facts.append("the node is simulated")
    else:
        facts.append(MachineFiles(scene.own).tegra_mark() or "there is no mark of a Tegra system")
        facts.append(f"{_DXG} is there" if scene.own.path(_DXG).exists() else f"there is no {_DXG}")
    nvml = inventory is not None and inventory.platform is Platform.NVML
    facts.append("NVML answers" if nvml else "NVML is not used")
    if strategy is not DeviceDiscoveryStrategy.AUTO:
        facts.append(f"--device-discovery-strategy={strategy} was given")
    if inventory is None:
        yield warning(
            EXAMINATION,
            f"No platform could be determined: {', '.join(facts)}.",
            "What is served depends on it, and nothing is served without.",
            "See what is said about the driver. On a Jetson or another Tegra system that is not recognized, set "
            "--device-discovery-strategy=tegra.",
            follows=(*DRIVERLESS, Trouble.NO_ANSWER),
        )
    else:
        yield ok(EXAMINATION, f"The platform is {inventory.platform}: {', '.join(facts)}.")
