"""A CDI specification as frozen values, and the JSON document that container runtimes read.

Source: the CNCF Container Device Interface specification, versions 0.3.0 to 1.1.0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

READ_ONLY = ("ro", "nosuid", "nodev", "rbind", "rprivate")
"""Mount options of driver files."""

VOID = "NVIDIA_VISIBLE_DEVICES=void"
"""The variable that keeps NVIDIA's own container runtime from adding devices to those of a specification."""

SOCKET = ("nosuid", "nodev", "rbind", "rprivate", "noexec")
"""Mount options of the sockets of driver daemons."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceNode:
    """A character device. `path` is the container's, `host_path` the host's (None: the same)."""

    path: str
    host_path: str | None = None
    major: int = 0
    minor: int = 0
    file_mode: int | None = None
    gid: int | None = None
    permissions: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """A bind mount of a host's file."""

    host_path: str
    container_path: str
    options: tuple[str, ...] = READ_ONLY


@dataclass(frozen=True, slots=True, kw_only=True)
class Hook:
    """A program that the runtime runs while it creates the container."""

    path: str
    args: tuple[str, ...]
    env: tuple[str, ...]
    name: str = "createContainer"


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerEdits:
    """Everything that is done to a container, in order."""

    env: tuple[str, ...] = ()
    device_nodes: tuple[DeviceNode, ...] = ()
    hooks: tuple[Hook, ...] = ()
    mounts: tuple[Mount, ...] = ()
    additional_gids: tuple[int, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether nothing is done; such a device is invalid in a specification."""
        return not (self.env or self.device_nodes or self.hooks or self.mounts or self.additional_gids)

    def __add__(self, other: ContainerEdits) -> ContainerEdits:
        return ContainerEdits(
            env=self.env + other.env,
            device_nodes=self.device_nodes + other.device_nodes,
            hooks=self.hooks + other.hooks,
            mounts=self.mounts + other.mounts,
            additional_gids=self.additional_gids + other.additional_gids,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecDevice:
    """One device that a container can ask for by name."""

    name: str
    edits: ContainerEdits
    annotations: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """One specification file: the devices of one class, and the edits that each of them brings along."""

    kind: str
    devices: tuple[SpecDevice, ...]
    edits: ContainerEdits = ContainerEdits()


def document(spec: Spec, version: str) -> dict[str, Any]:
    """Return the JSON document of a specification; empty parts of edits are left out."""
    return {
        "cdiVersion": version,
        "kind": spec.kind,
        "devices": [_device(device) for device in spec.devices],
        "containerEdits": _edits(spec.edits),
    }


def _device(device: SpecDevice) -> dict[str, Any]:
    out: dict[str, Any] = {"name": device.name}
    if device.annotations:
        out["annotations"] = dict(device.annotations)
    out["containerEdits"] = _edits(device.edits)
    return out


def _edits(edits: ContainerEdits) -> dict[str, Any]:
    parts: dict[str, Any] = {
        "env": list(edits.env),
        "deviceNodes": [_node(node) for node in edits.device_nodes],
        "hooks": [_hook(hook) for hook in edits.hooks],
        "mounts": [_mount(mount) for mount in edits.mounts],
        "additionalGids": list(edits.additional_gids),
    }
    return {name: part for name, part in parts.items() if part}


def _node(node: DeviceNode) -> dict[str, Any]:
    parts: dict[str, Any] = {
        "path": node.path,
        "hostPath": node.host_path,
        "major": node.major,
        "minor": node.minor,
        "fileMode": node.file_mode,
        "permissions": node.permissions,
        "gid": node.gid,
    }
    return {name: part for name, part in parts.items() if part}


def _hook(hook: Hook) -> dict[str, Any]:
    return {"hookName": hook.name, "path": hook.path, "args": list(hook.args), "env": list(hook.env)}


def _mount(mount: Mount) -> dict[str, Any]:
    return {"hostPath": mount.host_path, "containerPath": mount.container_path, "options": list(mount.options)}


_EARLIEST = "0.3.0"


def required_version(spec: Spec) -> str:
    """Return the lowest `cdiVersion` whose features cover this specification."""
    if any(edits.additional_gids for edits in _all_edits(spec)):
        return "0.7.0"
    if any(device.annotations for device in spec.devices) or "." in spec.kind.partition("/")[2]:
        return "0.6.0"
    if any(device.name[:1].isdigit() for device in spec.devices):
        return "0.5.0"
    if any(node.host_path for edits in _all_edits(spec) for node in edits.device_nodes):
        return "0.5.0"
    return _EARLIEST


def _all_edits(spec: Spec) -> Iterator[ContainerEdits]:
    yield spec.edits
    for device in spec.devices:
        yield device.edits
