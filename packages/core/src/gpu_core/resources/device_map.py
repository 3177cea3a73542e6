"""From what a node has and what its config asks for to the resources that the kubelet hears of."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_core.config.model import Config
from gpu_core.config.words import AllocationPolicy, SharingStrategy
from gpu_core.devices.mig_minors import MIG_MINORS_FILE
from gpu_core.devices.model import Inventory, Platform
from gpu_core.errors import ResourceError
from gpu_core.resources.mig_layout import check_mig_layout
from gpu_core.resources.model import Device, Resource
from gpu_core.resources.pools import unshared_pools
from gpu_core.resources.replicas import share


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
