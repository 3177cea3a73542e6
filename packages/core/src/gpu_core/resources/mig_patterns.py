"""The patterns by which a node's MIG devices become resources, as programs log them at their start."""

from __future__ import annotations

from typing import assert_never

from gpu_core.config.model import DEFAULT_RESOURCE, Config
from gpu_core.config.words import MigStrategy
from gpu_core.devices.model import Inventory
from gpu_core.resources.names import mig_resource_name


def mig_patterns(inventory: Inventory | None, config: Config) -> tuple[tuple[str, str], ...]:
    """Return pairs of a pattern and the name of its resource; `inventory` None is a node that cannot be read."""
    match config.flags.mig_strategy:
        case MigStrategy.NONE:
            return ()
        case MigStrategy.SINGLE:
            return (("*", DEFAULT_RESOURCE),)
        case MigStrategy.MIXED:
            gpus = () if inventory is None else inventory.gpus
            profiles = sorted({mig.instance_profile for gpu in gpus for mig in gpu.mig_devices})
            return tuple((profile, mig_resource_name(profile)) for profile in profiles)
    assert_never(config.flags.mig_strategy)
