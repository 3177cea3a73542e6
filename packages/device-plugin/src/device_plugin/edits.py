"""What a container is given besides its image: plain values, added up from contributions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """A writable bind mount."""

    container_path: str
    host_path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceNode:
    """A device node that may be read and written."""

    container_path: str
    host_path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Edits:
    """Changes to one container. `cdi_devices` are qualified names."""

    envs: Mapping[str, str] = field(default_factory=dict)
    mounts: tuple[Mount, ...] = ()
    devices: tuple[DeviceNode, ...] = ()
    annotations: Mapping[str, str] = field(default_factory=dict)
    cdi_devices: tuple[str, ...] = ()

    def __add__(self, other: Edits) -> Edits:
        """Return both; of one variable or annotation the later value counts, and nothing is listed twice."""
        return Edits(
            envs={**self.envs, **other.envs},
            mounts=tuple(dict.fromkeys(self.mounts + other.mounts)),
            devices=tuple(dict.fromkeys(self.devices + other.devices)),
            annotations={**self.annotations, **other.annotations},
            cdi_devices=tuple(dict.fromkeys(self.cdi_devices + other.cdi_devices)),
        )
