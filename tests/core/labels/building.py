"""Short ways to build inventories and nodes for the tests of labels."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from gpu_core.config.model import Config, Flags, GfdFlags
from gpu_core.config.sharing import ReplicatedResource, ReplicatedResources, Sharing
from gpu_core.config.words import ExtraLabels, MigStrategy
from gpu_core.devices.model import Gpu, Inventory, MigAttributes, MigDevice, PciFacts, Platform
from gpu_core.labels import Described, NodeFacts

MIB = 1024 * 1024
FACTS = NodeFacts(timestamp=1_700_000_000, machine_type="DGX H100")


def gpu(index: int = 0, name: str | None = "NVIDIA A100-SXM4-40GB", **facts: Any) -> Gpu:
    """Return a whole A100, or whatever the facts say."""
    known: dict[str, Any] = {
        "uuid": f"GPU-{index}",
        "memory": 40960 * MIB,
        "compute_capability": (8, 0),
        "mig_capable": True,
        "pci": PciFacts(address=f"0000:{index:02x}:00.0", class_code=0x030200, config=bytes(256)),
    }
    return Gpu(index=index, name=name, **(known | facts))


def t4(index: int = 0, **facts: Any) -> Gpu:
    """Return a T4."""
    known: dict[str, Any] = {"memory": 15360 * MIB, "compute_capability": (7, 5), "mig_capable": False}
    return gpu(index, "Tesla T4", **(known | facts))


def mig_gpu(index: int, *profiles: str, **facts: Any) -> Gpu:
    """Return a GPU in MIG mode with one device per profile."""
    parent = gpu(index, **facts)
    devices = tuple(mig(parent, place, profile) for place, profile in enumerate(profiles))
    return replace(parent, mig_enabled=True, mig_max=7, mig_devices=devices)


def mig(parent: Gpu, index: int, profile: str, **facts: Any) -> MigDevice:
    """Return a MIG device of a GPU; its attributes follow from the profile's first digit."""
    slices = int(profile[0])
    known: dict[str, Any] = {
        "attributes": MigAttributes(
            memory_mib=4864 * slices,
            multiprocessors=14 * slices,
            gpu_instance_slices=slices,
            compute_instance_slices=slices,
            copy_engines=slices,
        )
    }
    return MigDevice(
        index=index,
        uuid=f"MIG-{parent.index}-{index}",
        parent_uuid=parent.uuid,
        parent_index=parent.index,
        gpu_instance=index + 7,
        compute_instance=0,
        profile=profile,
        instance_profile=profile,
        **(known | facts),
    )


def inventory(*gpus: Gpu, **facts: Any) -> Inventory:
    """Return a node's inventory with a current driver."""
    known: dict[str, Any] = {
        "platform": Platform.NVML,
        "driver_version": "550.90.07",
        "cuda_version": (12, 4),
    }
    return Inventory(gpus=gpus, **(known | facts))


def config(
    strategy: MigStrategy = MigStrategy.NONE,
    *,
    extra: ExtraLabels = ExtraLabels.AUTO,
    time_slicing: ReplicatedResources | None = None,
    mps: ReplicatedResources | None = None,
    custom_resources: bool = False,
) -> Config:
    """Return a configuration that differs from the default where asked."""
    return Config(
        flags=Flags(mig_strategy=strategy, custom_resources=custom_resources, gfd=GfdFlags(extra_labels=extra)),
        sharing=Sharing(time_slicing=time_slicing, mps=mps),
    )


def shares(name: str, replicas: int, *, rename: str | None = None, by_default: bool = False) -> ReplicatedResources:
    """Return a section that shares one resource."""
    return ReplicatedResources(
        rename_by_default=by_default,
        resources=(ReplicatedResource(name=name, replicas=replicas, rename=rename),),
    )


def node(*gpus: Gpu, config: Config | None = None, facts: NodeFacts = FACTS, **inventory_facts: Any) -> Described:
    """Return a node for a labeler."""
    return Described(inventory=inventory(*gpus, **inventory_facts), facts=facts, config=config or Config())


def shuffled(found: Inventory, seed: int) -> Inventory:
    """Return the same hardware as a driver would enumerate it in another order: other indices, other minors."""
    chance = random.Random(seed)
    gpus = list(found.gpus)
    chance.shuffle(gpus)
    return replace(found, gpus=tuple(_renumbered(gpu, index) for index, gpu in enumerate(gpus)))


def _renumbered(found: Gpu, index: int) -> Gpu:
    migs: Iterable[MigDevice] = (replace(mig, parent_index=index) for mig in reversed(found.mig_devices))
    return replace(found, index=index, minor=index, mig_devices=tuple(migs))
