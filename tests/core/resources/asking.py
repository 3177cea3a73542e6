"""Configs for the tests of resources, from the few words that matter."""

from __future__ import annotations

from typing import Any

import yaml

from gpu_core.config.model import Config, Flags, PluginFlags, ResourcePattern, Resources
from gpu_core.config.sharing import ReplicatedResource, ReplicatedResources, Sharing
from gpu_core.config.words import AllocationPolicy, MigStrategy


def entry(name: str = "nvidia.com/gpu", replicas: int = 2, **more: Any) -> ReplicatedResource:
    return ReplicatedResource(name=name, replicas=replicas, **more)


def time_slicing(*entries: ReplicatedResource, **more: Any) -> Sharing:
    return Sharing(time_slicing=ReplicatedResources(resources=entries, **more))


def mps(*entries: ReplicatedResource, **more: Any) -> Sharing:
    return Sharing(mps=ReplicatedResources(resources=entries, **more))


def config_of(
    *,
    mig: str = "none",
    sharing: Sharing | None = None,
    custom: bool = False,
    gpus: tuple[ResourcePattern, ...] = (),
    parts: tuple[ResourcePattern, ...] = (),
    specs: bool = False,
    policy: AllocationPolicy = AllocationPolicy.DISTRIBUTED,
) -> Config:
    return Config(
        flags=Flags(
            mig_strategy=MigStrategy(mig),
            custom_resources=custom,
            plugin=PluginFlags(pass_device_specs=specs, shared_devices_allocation_policy=policy),
        ),
        resources=Resources(gpus=gpus, mig=parts),
        sharing=sharing or Sharing(),
    )


def sharing_of(text: str | None) -> Sharing:
    """Read the `sharing` section of a recorded config file, which holds nothing surprising."""
    document = (yaml.safe_load(text) if text else None) or {}
    sections = {
        {"timeSlicing": "time_slicing"}.get(name, name): ReplicatedResources(
            rename_by_default=section.get("renameByDefault", False),
            fail_requests_greater_than_one=section.get("failRequestsGreaterThanOne"),
            resources=tuple(entry(item["name"], item["replicas"]) for item in section["resources"]),
        )
        for name, section in document.get("sharing", {}).items()
    }
    return Sharing(**sections)
