"""Inventories for the tests of resources: recorded nodes, and small ones made on the spot."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from gpu_core.devices.model import (
    Fault,
    Gpu,
    Inventory,
    LinkLevel,
    MigAttributes,
    MigDevice,
    PairLink,
    Platform,
)

GOLDEN = Path(__file__).parents[2] / "golden"
LOST = Fault(call="DeviceGetUUID", code="GPU_IS_LOST")

NODES: dict[str, Any] = json.loads((GOLDEN / "resources" / "nodes.json").read_text())


def golden(name: str) -> list[dict[str, Any]]:
    cases: list[dict[str, Any]] = json.loads((GOLDEN / name).read_text())
    return cases


def recorded_node(name: str) -> Inventory:
    node = NODES[name]
    minors_known = node.get("mig_minors", True)
    levels, nvlinks = node.get("levels", []), node.get("nvlinks", [])
    return Inventory(
        platform=Platform(node["platform"]),
        gpus=tuple(_recorded_gpu(index, facts, minors_known=minors_known) for index, facts in enumerate(node["gpus"])),
        links=tuple(
            tuple(
                PairLink() if a == b else PairLink(level=LinkLevel(level), nvlinks=nvlinks[a][b])
                for b, level in enumerate(row)
            )
            for a, row in enumerate(levels)
        ),
        mig_minors_known=minors_known,
    )


def _recorded_gpu(index: int, facts: dict[str, Any], *, minors_known: bool) -> Gpu:
    parts = facts.get("mig")
    return Gpu(
        index=index,
        uuid=facts["uuid"],
        name=facts["name"],
        minor=facts["minor"],
        numa_node=facts["numa"],
        mig_enabled=parts is not None,
        mig_devices=tuple(
            _recorded_mig(number, index, facts, part, minors_known=minors_known)
            for number, part in enumerate(parts or ())
        ),
    )


def _recorded_mig(
    number: int, parent: int, facts: dict[str, Any], part: dict[str, Any], *, minors_known: bool
) -> MigDevice:
    slices, whole = part["cslices"], part["profile"]
    base = 3 + facts["minor"] * 135 + part["gi"] * 9
    return MigDevice(
        index=number,
        uuid=part["uuid"],
        parent_uuid=facts["uuid"],
        parent_index=parent,
        gpu_instance=part["gi"],
        compute_instance=part["ci"],
        profile=whole if slices == part["gslices"] else f"{slices}c.{whole}",
        instance_profile=whole,
        attributes=MigAttributes(
            memory_mib=part["mem"],
            multiprocessors=part["sm"],
            gpu_instance_slices=part["gslices"],
            compute_instance_slices=slices,
            copy_engines=part["ce"],
            decoders=part["dec"],
            encoders=part["enc"],
            jpeg_engines=part["jpeg"],
            ofa_engines=part["ofa"],
        ),
        capability_minors=(base, base + 1 + part["ci"]) if minors_known else None,
    )


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
