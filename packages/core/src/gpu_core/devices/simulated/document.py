"""Reads a simulated node from its document: checks every key, fills in what a model implies."""

from __future__ import annotations

import uuid as uuids
from collections.abc import Mapping, Sequence
from typing import Any

from gpu_core.devices.model import Platform
from gpu_core.devices.simulated.links import MOST_LINKS, bridges, levels
from gpu_core.devices.simulated.node import SimulatedGpu, SimulatedNode
from gpu_core.devices.simulated.partition import mig_devices, profile
from gpu_core.devices.simulated.values import (
    NAMESPACE,
    bus_id,
    capability,
    cuda,
    cuda_device,
    each,
    events,
    fabric,
    integer,
    mapping,
    memory,
    natural,
    numa,
    recovery,
    sequence,
    short_text,
    vgpu,
    word,
)
from gpu_core.errors import ConfigError

_MOST_GPUS = 64
_MOST_MIG_DEVICES = 64
"""More than any GPU has; a program asks for each of them."""

_NODE_KEYS = frozenset(
    [
        "description",
        "platform",
        "machine",
        "driver",
        "cuda",
        "gpus",
        "links",
        "mig_minors",
        "imex_channels",
        "cuda_device",
    ]
)
_GPU_KEYS = frozenset(
    [
        "model",
        "count",
        "uuid",
        "name",
        "minor",
        "bus_id",
        "pci_id",
        "pci_class",
        "numa",
        "memory",
        "compute_capability",
        "brand",
        "addressing_mode",
        "events",
        "recovery",
        "mig",
        "fabric",
        "sysfs",
        "vgpu",
    ]
)

_NAME_BYTES = 95
_DRIVER_BYTES = 79
"""Lengths of NVML's buffers for names and UUIDs, and for the driver's version, without the zero at the end."""

Models = Mapping[str, Mapping[str, Any]]


def read_node(document: object, name: str, models: Models) -> SimulatedNode:
    """Return the node that a document describes. Raises ConfigError naming the key that is wrong."""
    node = mapping(document, name, _NODE_KEYS)
    gpus: list[SimulatedGpu] = []
    for position, entry in enumerate(sequence(node.get("gpus", []), f"{name}: gpus")):
        where = f"{name}: gpus[{position}]"
        facts = _gpu_facts(mapping(entry, where, _GPU_KEYS), where, models)
        for number in range(natural(facts.get("count", 1), f"{where}.count", most=_MOST_GPUS)):
            gpus.append(_gpu(facts, number, len(gpus), name, where))
    _check_uuids(gpus, name)
    links = mapping(node.get("links", {}), f"{name}: links", frozenset({"default", "groups", "pairs", "nvlinks"}))
    nvlinks = links.get("nvlinks", {})
    return SimulatedNode(
        name=name,
        description=str(node.get("description", "")),
        platform=word(node.get("platform", "nvml"), {word.value: word for word in Platform}, f"{name}: platform"),
        machine=None if node.get("machine") is None else str(node["machine"]),
        driver=short_text(node.get("driver", "550.90.07"), f"{name}: driver", _DRIVER_BYTES),
        cuda=cuda(node.get("cuda", "12.4"), f"{name}: cuda"),
        gpus=tuple(gpus),
        levels=levels(links, len(gpus), f"{name}: links"),
        bridges=bridges(nvlinks, len(gpus), f"{name}: links.nvlinks"),
        switch_links=natural(nvlinks.get("switch", 0), f"{name}: links.nvlinks.switch", most=MOST_LINKS),
        mig_minors=bool(node.get("mig_minors", True)),
        imex_channels=tuple(
            integer(channel, f"{name}: imex_channels")
            for channel in sequence(node.get("imex_channels", []), f"{name}: imex_channels")
        ),
        cuda_device=cuda_device(node.get("cuda_device"), f"{name}: cuda_device"),
    )


def _check_uuids(gpus: Sequence[SimulatedGpu], name: str) -> None:
    """Raise ConfigError where two GPUs or MIG devices would have one UUID."""
    seen: set[str] = set()
    for gpu in gpus:
        for uuid in (gpu.uuid, *(mig.uuid for mig in gpu.mig_devices)):
            if uuid in seen:
                raise ConfigError(f"{name}: two devices have the UUID {uuid}. Give each its own, or none.")
            seen.add(uuid)


def _gpu_facts(entry: Mapping[str, Any], where: str, models: Models) -> dict[str, Any]:
    model = entry.get("model")
    if model is None:
        return dict(entry)
    if not isinstance(model, str) or model not in models:
        raise ConfigError(f"{where}.model: unknown model {model!r}. Known models: {', '.join(sorted(models))}.")
    return {**models[model], **entry}


def _gpu(facts: Mapping[str, Any], number: int, index: int, node: str, where: str) -> SimulatedGpu:
    mig = mapping(facts.get("mig", {}), f"{where}.mig", frozenset({"enabled", "devices", "max", "profiles"}))
    table = facts.get("mig_profiles", mig.get("profiles", {}))
    profiles = tuple(profile(name, entry, f"{where}: profile {name}") for name, entry in dict(table).items())
    enabled, mode = bool(mig.get("enabled", False)), facts.get("addressing_mode")
    devices = sequence(mig.get("devices", []), f"{where}.mig.devices") if enabled else []
    return SimulatedGpu(
        uuid=short_text(
            each(facts, "uuid", number, f"GPU-{uuids.uuid5(NAMESPACE, f'{node}/{index}')}"),
            f"{where}.uuid",
            _NAME_BYTES,
        ),
        name=short_text(facts.get("name", "NVIDIA GPU"), f"{where}.name", _NAME_BYTES),
        minor=natural(each(facts, "minor", number, index), f"{where}.minor"),
        bus_id=bus_id(
            each(facts, "bus_id", number, f"00000000:{7 + 8 * index if index < 30 else 7 + index:02X}:00.0"),
            f"{where}.bus_id",
        ),
        pci_id=natural(facts.get("pci_id", 0x10DE), f"{where}.pci_id"),
        pci_class=integer(facts.get("pci_class", 0x030200), f"{where}.pci_class"),
        numa_node=numa(each(facts, "numa", number, None), f"{where}.numa"),
        memory=memory(facts.get("memory"), f"{where}.memory"),
        compute_capability=capability(facts.get("compute_capability", "0.0"), f"{where}.compute_capability"),
        brand=integer(facts.get("brand", 0), f"{where}.brand"),
        addressing_mode=None if mode is None else natural(mode, f"{where}.addressing_mode"),
        events=events(facts.get("events", ["xid", "double-bit-ecc", "single-bit-ecc"]), f"{where}.events"),
        recovery=recovery(facts.get("recovery"), f"{where}.recovery"),
        mig_max=natural(mig.get("max", facts.get("mig_max", 0)), f"{where}.mig.max", most=_MOST_MIG_DEVICES),
        mig_enabled=enabled,
        mig_devices=mig_devices(node, index, profiles, devices, f"{where}.mig.devices"),
        profiles=profiles,
        fabric=fabric(facts.get("fabric"), f"{where}.fabric"),
        sysfs=bool(facts.get("sysfs", True)),
        vgpu=vgpu(facts.get("vgpu"), f"{where}.vgpu"),
    )
