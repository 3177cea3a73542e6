"""Rewrites the paths of a specification from where our container sees them to where the host has them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from posixpath import join, normpath

from gpu_core.cdi.model import ContainerEdits, DeviceNode, Hook, Mount, Spec


@dataclass(frozen=True, slots=True, kw_only=True)
class HostPaths:
    """The driver root and the dev root, each as our process sees it and as the host does."""

    seen_driver: str
    host_driver: str
    seen_dev: str
    host_dev: str

    def on_host(self, spec: Spec) -> Spec:
        """Return the specification with every host path as the host has it."""
        for seen, host in self._rewrites():
            if seen != host:
                spec = _rewrite_spec(spec, seen, host)
        return spec

    def _rewrites(self) -> tuple[tuple[str, str], ...]:
        driver = (_clean(self.seen_driver), _clean(self.host_driver))
        if _clean(self.seen_dev) == driver[0]:
            return (driver,)
        return (driver, (_dev(self.seen_dev), _dev(self.host_dev)))


def rewrite_path(path: str, seen: str, host: str) -> str:
    """Return `path` with the leading `seen` replaced by `host`; other paths are left alone."""
    if seen == "/":
        return normpath(join(host, path.lstrip("/")))
    if path == seen or path.startswith(f"{seen}/"):
        return normpath(join(host, path[len(seen) :].lstrip("/")))
    return path


def _clean(root: str) -> str:
    return normpath(root or "/")


def _dev(root: str) -> str:
    """Return the /dev of a root that may itself be written with /dev at its end."""
    return normpath(join(_clean(root).removesuffix("/dev") or "/", "dev"))


def _rewrite_spec(spec: Spec, seen: str, host: str) -> Spec:
    return replace(
        spec,
        devices=tuple(replace(device, edits=_rewrite_edits(device.edits, seen, host)) for device in spec.devices),
        edits=_rewrite_edits(spec.edits, seen, host),
    )


def _rewrite_edits(edits: ContainerEdits, seen: str, host: str) -> ContainerEdits:
    def node(old: DeviceNode) -> DeviceNode:
        return replace(old, host_path=rewrite_path(old.host_path or old.path, seen, host))

    def mount(old: Mount) -> Mount:
        return replace(old, host_path=rewrite_path(old.host_path, seen, host))

    def hook(old: Hook) -> Hook:
        return replace(old, path=rewrite_path(old.path, seen, host))

    return replace(
        edits,
        device_nodes=tuple(node(old) for old in edits.device_nodes),
        mounts=tuple(mount(old) for old in edits.mounts),
        hooks=tuple(hook(old) for old in edits.hooks),
    )
