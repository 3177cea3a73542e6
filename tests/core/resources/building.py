"""Inventories for the tests of resources: recorded nodes, and small ones made on the spot."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from gpu_core.config.words import DeviceDiscoveryStrategy
from gpu_core.devices.choose import open_backend
from gpu_core.devices.model import Fault, Gpu, Inventory, MigAttributes, MigDevice, Platform
from gpu_core.devices.simulated.files import load_node

GOLDEN = Path(__file__).parents[2] / "golden"
LOST = Fault(call="DeviceGetUUID", code="GPU_IS_LOST")


def golden(name: str) -> list[dict[str, Any]]:
    cases: list[dict[str, Any]] = json.loads((GOLDEN / name).read_text())
    return cases


@cache
def recorded_node(name: str) -> Inventory:
    """Read one of the recorded nodes, links and all, as it is read from a driver."""
    node = load_node(str(GOLDEN / "topologies" / f"{name}.yaml"))
    backend = open_backend(strategy=DeviceDiscoveryStrategy.AUTO, simulated=node)
    try:
        return backend.read(links=True)
    finally:
        backend.close()


def whole_gpu(index: int, **facts: Any) -> Gpu:
    return Gpu(**{"index": index, "uuid": f"GPU-{index}", "name": "NVIDIA Test", "minor": index, **facts})


def mig_gpu(index: int, *profiles: str, **facts: Any) -> Gpu:
    devices = tuple(mig_device(index, number, profile) for number, profile in enumerate(profiles))
    return whole_gpu(index, **{"mig_enabled": True, "mig_devices": devices, **facts})


def mig_device(parent: int, number: int, profile: str, **facts: Any) -> MigDevice:
    instance = profile.split("c.", 1)[-1]
    slices = int(instance[0])
    defaults = {
        "index": number,
        "uuid": f"MIG-{parent}-{number}",
        "parent_uuid": f"GPU-{parent}",
        "parent_index": parent,
        "gpu_instance": number + 1,
        "compute_instance": 0,
        "profile": profile,
        "instance_profile": instance,
        "attributes": MigAttributes(
            memory_mib=4864 * slices,
            multiprocessors=14 * slices,
            gpu_instance_slices=slices,
            compute_instance_slices=slices,
        ),
        "capability_minors": (parent * 100 + number * 10, parent * 100 + number * 10 + 1),
    }
    return MigDevice(**{**defaults, **facts})


def node_of(*gpus: Gpu, platform: Platform = Platform.NVML, **facts: Any) -> Inventory:
    return Inventory(platform=platform, gpus=gpus, **facts)
