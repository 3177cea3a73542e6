"""The hooks that NVIDIA's container toolkit runs while a container is created.

Argument forms: `nvidia-ctk hook NAME …` when the tool is nvidia-ctk, `<tool> NAME …` for every other tool.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from posixpath import basename

from gpu_core.cdi.model import Hook


class HookName(StrEnum):
    """The hooks that a specification can name."""

    CREATE_SYMLINKS = "create-symlinks"
    ENABLE_CUDA_COMPAT = "enable-cuda-compat"
    UPDATE_LDCACHE = "update-ldcache"
    DISABLE_DEVICE_NODE_MODIFICATION = "disable-device-node-modification"
    UPDATE_APPLICATION_PROFILE = "update-application-profile"
    CHMOD = "chmod"


_ALL = "all"
_OFF_BY_DEFAULT = frozenset({HookName.CHMOD})


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooks:
    """Makes the hooks of a specification for the tool at `tool`, except the disabled ones.

    `disabled` holds hook names, or `all`; names that no hook has are ignored, as the original ignores them.
    """

    tool: str
    disabled: frozenset[str] = frozenset()
    enabled: frozenset[str] = frozenset()

    def symlinks(self, links: Iterable[str]) -> tuple[Hook, ...]:
        """Create the links, each written `target::path in the container`; nothing without links."""
        args = [arg for link in dict.fromkeys(links) for arg in ("--link", link)]
        return self._hook(HookName.CREATE_SYMLINKS, args) if args else ()

    def ldcache(self, folders: Iterable[str]) -> tuple[Hook, ...]:
        """Make the container's loader find libraries in these folders; nothing without folders."""
        args = [arg for folder in dict.fromkeys(folders) for arg in ("--folder", folder)]
        return self._hook(HookName.UPDATE_LDCACHE, args) if args else ()

    def cuda_compat(
        self, *, driver_version: str | None = None, cuda_version: str | None = None, container_root: str | None = None
    ) -> tuple[Hook, ...]:
        """Let containers with a newer CUDA use the compatibility libraries that they bring along."""
        options = {
            "--host-driver-version": driver_version,
            "--host-cuda-version": cuda_version,
            "--cuda-compat-container-root": container_root,
        }
        return self._hook(HookName.ENABLE_CUDA_COMPAT, [f"{name}={value}" for name, value in options.items() if value])

    def folder_permissions(self, folders: Iterable[str]) -> tuple[Hook, ...]:
        """Open device folders to every user of the container; off unless enabled."""
        paths = [arg for folder in dict.fromkeys(folders) for arg in ("--path", folder)]
        return self._hook(HookName.CHMOD, ["--mode", "755", *paths]) if paths else ()

    def plain(self, name: HookName) -> tuple[Hook, ...]:
        """Return a hook that takes no arguments."""
        return self._hook(name, [])

    def _hook(self, name: HookName, args: list[str]) -> tuple[Hook, ...]:
        if not self._wanted(name):
            return ()
        base = basename(self.tool)
        command = (base, "hook", name.value) if base == "nvidia-ctk" else (base, name.value)
        return (Hook(path=self.tool, args=(*command, *args), env=("NVIDIA_CTK_DEBUG=false",)),)

    def _wanted(self, name: HookName) -> bool:
        if name in self.enabled:
            return True
        return name not in self.disabled and _ALL not in self.disabled and name not in _OFF_BY_DEFAULT
