"""Which devices a node has, each whole, and under which resource names they belong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gpu_core.config.model import DEFAULT_RESOURCE, Config, ResourcePattern
from gpu_core.config.words import AllocationPolicy, MigStrategy
from gpu_core.devices.model import Gpu, Inventory, MigDevice, Platform
from gpu_core.resources.model import Device
from gpu_core.resources.names import matches, mig_resource_name

TEGRA_DEVICE = Device(id="tegra", uuid="tegra", index="0")
"""The one device of a Tegra system: its GPU is part of the chip and has no UUID."""

WSL_DEVICE = Device(id="all", uuid="all", index="all", paths=("/dev/dxg",))
"""The one device of a WSL system: all GPUs are reached through one node and cannot be told apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pools:
    """Unshared devices by full resource name, in order of index, and the policies that single resources ask for."""

    devices: Mapping[str, tuple[Device, ...]]
    policies: Mapping[str, AllocationPolicy]


def unshared_pools(inventory: Inventory, config: Config) -> Pools:
    """Return every device of the node under its resource's name, before anything is shared.

    A GPU that could not be read fully stays in its pool, since the kubelet has to hear that it is unhealthy.
    """
    devices: dict[str, dict[str, Device]] = {}
    policies: dict[str, AllocationPolicy] = {}
    for (name, policy), device in _named(inventory, config):
        # On WSL every GPU leads to the same device, so it may come several times.
        devices.setdefault(name, {}).setdefault(device.id, device)
        if policy is not None:
            policies[name] = policy
    return Pools(devices={name: tuple(pool.values()) for name, pool in devices.items()}, policies=policies)


Name = tuple[str, AllocationPolicy | None]


def _named(inventory: Inventory, config: Config) -> Iterator[tuple[Name, Device]]:
    patterns = config.resources if config.flags.custom_resources else type(config.resources)()
    strategy = config.flags.mig_strategy
    # VFIO has no pools: GPUs handed through to virtual machines are described by labels and served by another plugin.
    if inventory.platform is Platform.TEGRA:
        yield _name(patterns.gpus, "tegra", DEFAULT_RESOURCE), TEGRA_DEVICE
    elif inventory.platform is Platform.WSL:
        for gpu in inventory.gpus:
            yield _name(patterns.gpus, gpu.name or "", DEFAULT_RESOURCE), WSL_DEVICE
    elif inventory.platform is Platform.NVML:
        for gpu in inventory.gpus:
            if strategy is MigStrategy.NONE or not gpu.mig_enabled:
                yield _name(patterns.gpus, gpu.name or "", DEFAULT_RESOURCE), _whole(gpu)
                continue
            for mig in gpu.mig_devices:
                yield _name(patterns.mig, mig.profile, _mig_default(mig, strategy)), _part(gpu, mig)


def _name(patterns: tuple[ResourcePattern, ...], text: str, default: str) -> Name:
    for entry in patterns:
        if matches(entry.pattern, text):
            return entry.name, entry.allocation_policy
    return default, None


def _mig_default(mig: MigDevice, strategy: MigStrategy) -> str:
    # A compute instance smaller than its GPU instance has a profile of its own but no resource of its own.
    return mig_resource_name(mig.instance_profile) if strategy is MigStrategy.MIXED else DEFAULT_RESOURCE


def _whole(gpu: Gpu) -> Device:
    return Device(id=gpu.uuid, uuid=gpu.uuid, index=str(gpu.index), paths=_node(gpu), numa_node=gpu.numa_node, gpu=gpu)


def _part(gpu: Gpu, mig: MigDevice) -> Device:
    access = tuple(f"/dev/nvidia-caps/nvidia-cap{minor}" for minor in mig.capability_minors or ())
    return Device(
        id=mig.uuid,
        uuid=mig.uuid,
        index=f"{gpu.index}:{mig.index}",
        paths=_node(gpu) + access,
        numa_node=gpu.numa_node,
        gpu=gpu,
        mig=mig,
    )


def _node(gpu: Gpu) -> tuple[str, ...]:
    return () if gpu.minor is None else (f"/dev/nvidia{gpu.minor}",)
