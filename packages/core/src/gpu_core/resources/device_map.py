"""From what a node has and what its config asks for to the resources that the kubelet hears of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gpu_core.config.model import DEFAULT_RESOURCE, Config, ResourcePattern
from gpu_core.config.names import matches
from gpu_core.config.words import AllocationPolicy, MigStrategy, SharingStrategy
from gpu_core.devices.mig_minors import MIG_MINORS_FILE
from gpu_core.devices.model import Gpu, Inventory, MigDevice, Platform
from gpu_core.errors import ResourceError
from gpu_core.resources.mig import check_mig_layout
from gpu_core.resources.model import Device, Resource
from gpu_core.resources.names import mig_resource_name
from gpu_core.resources.replicas import share

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


def build_resources(inventory: Inventory, config: Config) -> tuple[tuple[Resource, ...], tuple[str, ...]]:
    """Return the node's resources sorted by name, and warnings for the log.

    Devices that could not be read fully are among them, to be reported as unhealthy; GPUs without a readable identity
    cannot be named and are only warned of. Raises ResourceError when the devices cannot be served as the config asks.
    """
    warnings = [f"GPU {lost.index} is left out: {lost.fault}." for lost in inventory.unreadable]
    if inventory.platform is Platform.NVML:
        warnings += check_mig_layout(inventory.gpus, config.flags.mig_strategy)
    pools = unshared_pools(inventory, config)
    shares = share(pools.devices, config.sharing, custom=config.flags.custom_resources)
    policies = {**pools.policies, **shares.policies}
    resources = tuple(
        _resource(name, devices, inventory.platform, config, policies.get(name))
        for name, devices in sorted(shares.devices.items())
    )
    for resource in resources:
        _check_mps(resource)
    warnings += _check_access(resources, config)
    return resources, tuple(warnings)


def _resource(
    name: str, devices: tuple[Device, ...], platform: Platform, config: Config, policy: AllocationPolicy | None
) -> Resource:
    shared = any(device.replica is not None for device in devices)
    on_nvml = platform is Platform.NVML
    policy = policy or config.flags.plugin.shared_devices_allocation_policy
    return Resource(
        name=name,
        devices=devices,
        sharing=config.sharing.strategy if shared else SharingStrategy.NONE,
        replicas=max(device.replicas for device in devices),
        fail_requests_greater_than_one=shared and config.sharing.fail_requests_greater_than_one,
        # With one pseudo device there is nothing to pack.
        policy=policy if on_nvml else AllocationPolicy.DISTRIBUTED,
        aligned=on_nvml and all(device.mig is None for device in devices),
    )


def _check_mps(resource: Resource) -> None:
    if resource.sharing is not SharingStrategy.MPS:
        return
    parts = list(dict.fromkeys(device.uuid for device in resource.devices if device.mig is not None))
    if parts:
        raise ResourceError(
            f"{resource.name} cannot be shared through MPS: it holds the MIG devices {', '.join(parts)}. Use time "
            "slicing for MIG devices, or disable MIG on these GPUs."
        )
    numbers = sorted({device.replicas for device in resource.devices if device.replica is not None})
    if len(numbers) > 1:
        raise ResourceError(
            f"{resource.name} would hold GPUs shared through MPS in {' and '.join(map(str, numbers))} parts, but one "
            "MPS daemon has one set of limits. Give the entries different `rename`s."
        )


def _check_access(resources: tuple[Resource, ...], config: Config) -> Iterator[str]:
    """Yield a warning where the nodes that give access to MIG devices are unknown."""
    unknown = dict.fromkeys(
        device.uuid
        for resource in resources
        for device in resource.devices
        if device.mig is not None and device.mig.capability_minors is None
    )
    if not unknown:
        return
    fact = f"{MIG_MINORS_FILE} does not name the device nodes of the MIG devices {', '.join(unknown)}"
    if config.flags.plugin.pass_device_specs:
        raise ResourceError(
            f"{fact}, which passDeviceSpecs needs. Turn it off, or load the driver's capabilities file."
        )
    yield f"{fact}; containers get them by name only."
