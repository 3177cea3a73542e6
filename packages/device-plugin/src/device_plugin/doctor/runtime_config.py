"""What the configurations of containerd and CRI-O say about NVIDIA's runtime and about CDI. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_CONTAINERD = ("io.containerd.cri.v1.runtime", "io.containerd.grpc.v1.cri", "cri")
"""The plugin that serves the kubelet: since version 3 of the configuration, version 2, version 1."""

_DEFAULT_DIRECTORIES = ("/etc/cdi", "/var/run/cdi")


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeFacts:
    """What a runtime is configured to do.

    `handlers` are the runtime handlers by name with the program of each, empty where none is named. `default` is the
    handler of pods that ask for none. `cdi` tells whether CDI is read, None where the runtime's version decides.
    """

    handlers: Mapping[str, str]
    default: str
    cdi: bool | None
    cdi_directories: tuple[str, ...]

    @property
    def nvidia(self) -> tuple[str, ...]:
        """The names of the handlers that run NVIDIA's runtime."""
        return tuple(sorted(name for name, program in self.handlers.items() if "nvidia" in f"{name} {program}"))


def containerd_facts(document: Mapping[str, Any]) -> RuntimeFacts:
    """Return what a containerd configuration says."""
    plugins = _table(document, "plugins")
    plugin: Mapping[str, Any] = {}
    version = document.get("version", 1)
    for name in _CONTAINERD:
        plugin = _merged(plugin, _table(plugins, name))
    runtimes = _table(plugin, "containerd", "runtimes")
    cdi = plugin.get("enable_cdi")
    return RuntimeFacts(
        handlers={name: str(_table(runtimes, name, "options").get("BinaryName", "")) for name in runtimes},
        default=str(_table(plugin, "containerd").get("default_runtime_name", "runc")),
        # containerd 2, whose configuration is of version 3, reads CDI unless told otherwise.
        cdi=cdi if isinstance(cdi, bool) else (True if version >= 3 else None),
        cdi_directories=_texts(plugin.get("cdi_spec_dirs")) or _DEFAULT_DIRECTORIES,
    )


def crio_facts(document: Mapping[str, Any]) -> RuntimeFacts:
    """Return what a CRI-O configuration says; CRI-O reads CDI since 1.23."""
    runtime = _table(document, "crio", "runtime")
    runtimes = _table(runtime, "runtimes")
    return RuntimeFacts(
        handlers={name: str(_table(runtimes, name).get("runtime_path", "")) for name in runtimes},
        default=str(runtime.get("default_runtime", "crun")),
        cdi=True,
        cdi_directories=_texts(runtime.get("cdi_spec_dirs")) or _DEFAULT_DIRECTORIES,
    )


def merged(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """Return two configurations as one; what comes second wins, and tables are merged."""
    return _merged(first, second)


def _merged(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    result = dict(first)
    for name, value in second.items():
        before = result.get(name)
        both = isinstance(before, Mapping) and isinstance(value, Mapping)
        result[name] = _merged(before, value) if both and before is not None else value
    return result


def _table(document: Mapping[str, Any], *path: str) -> Mapping[str, Any]:
    here: Any = document
    for name in path:
        here = here.get(name) if isinstance(here, Mapping) else None
    return here if isinstance(here, Mapping) else {}


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list) else ()
