"""How resources are named: after the kind of device behind them, and after being shared."""

from __future__ import annotations

from gpu_core.config.names import RESOURCE_PREFIX
from gpu_core.config.sharing import ReplicatedResource, ReplicatedResources

__all__ = ["RESOURCE_PREFIX", "advertised_name", "mig_resource_name", "shared_name", "short_name"]


def mig_resource_name(profile: str) -> str:
    """Return the full name of a MIG profile's resource: `1g.5gb+me` becomes `nvidia.com/mig-1g.5gb.me`."""
    return f"{RESOURCE_PREFIX}mig-{profile.replace('+', '.')}"


def shared_name(name: str) -> str:
    """Return the name that `renameByDefault` gives to the shares of a resource.

    The kubelet takes names longer than the 63 characters that the config file may write, so nothing is cut.
    """
    return f"{name}.shared"


def advertised_name(entry: ReplicatedResource, sharing: ReplicatedResources, *, custom: bool) -> str:
    """Return the name under which an entry's shares are advertised.

    A written `rename` counts only where `customResources` is on, and then goes before `renameByDefault`.
    """
    if custom and entry.rename is not None:
        return entry.rename
    return shared_name(entry.name) if sharing.rename_by_default else entry.name


def short_name(name: str) -> str:
    """Return a resource's name without its prefix, as socket files carry it."""
    return name.removeprefix(RESOURCE_PREFIX)
