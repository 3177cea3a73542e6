"""What the demo has to know of its node before it begins: how GPUs are called, and what can be shown of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gpu_core.config.model import Config
from gpu_core.config.words import DeviceDiscoveryStrategy
from gpu_core.devices.choose import open_backend
from gpu_core.devices.filter import apply
from gpu_core.devices.model import Platform
from gpu_core.devices.simulated.files import load_node


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeFacts:
    """A node: how people call its GPUs, by UUID, and whether its driver tells of faults, which only NVML does."""

    names: Mapping[str, str]
    tells_faults: bool

    @property
    def has_gpus(self) -> bool:
        """Whether there is anything to serve."""
        return bool(self.names)


def node_facts(node: str) -> NodeFacts:
    """Read a simulated node. Raises SuiteError when there is none of that name, or its file cannot be used."""
    backend = open_backend(strategy=DeviceDiscoveryStrategy.AUTO, simulated=load_node(node))
    try:
        inventory = apply(backend.read(), Config().devices)
    finally:
        backend.close()
    return NodeFacts(
        names={gpu.uuid: f"GPU{gpu.index}" for gpu in inventory.gpus},
        tells_faults=inventory.platform is Platform.NVML,
    )
