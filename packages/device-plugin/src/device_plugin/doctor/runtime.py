"""The container runtime of the node: whether it gives containers the GPUs that the plugin names."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from device_plugin.doctor.finding import Finding, Trouble, ok, problem, skipped, warning
from device_plugin.doctor.runtime_config import RuntimeFacts, containerd_facts, crio_facts, merged
from device_plugin.doctor.scene import Scene
from gpu_core.cdi.names import SPEC_DIRECTORY
from gpu_core.files import read_regular
from gpu_core.runtime.roots import Roots

EXAMINATION = "runtime"
CDI = "runtime and CDI"

_CONTAINERD = (
    "/etc/containerd/config.toml",
    "/var/lib/rancher/k3s/agent/etc/containerd/config.toml",
    "/var/lib/rancher/rke2/agent/etc/containerd/config.toml",
    "/etc/k0s/containerd.toml",
)
_LARGEST = 4 * 1024 * 1024
"""Bytes of a configuration at the most."""

_CRIO = "/etc/crio/crio.conf"
_CRIO_PARTS = "/etc/crio/crio.conf.d"
_CONFIGURE = "Run `nvidia-ctk runtime configure --runtime={} --set-as-default` on the node, and restart {}."


def runtime(scene: Scene) -> Iterator[Finding]:
    """Look at the configurations that are there."""
    host = scene.host
    if host is None:
        yield skipped(
            EXAMINATION,
            "The host's files are not visible here.",
            "Run the doctor on the host, or mount the host's root and give it with --host-root.",
        )
        return
    seen = False
    for name, place, read in (("containerd", _first(host), _containerd), ("crio", _crio_place(host), _crio)):
        if place is None:
            continue
        seen = True
        try:
            facts = read(host, place)
        except (OSError, ValueError) as error:
            yield problem(
                EXAMINATION,
                f"{place} cannot be read: {error}.",
                f"{name} itself would not start with it, or runs with what it read before.",
                f"Correct the file and restart {name}.",
                trouble=Trouble.NO_RUNTIME,
            )
            continue
        yield from _handler(scene, host, name, place, facts)
        if scene.wants_cdi:
            yield from _cdi(name, place, facts)
    if not seen and not scene.only_cdi:
        yield problem(
            EXAMINATION,
            f"There is no configuration of containerd or CRI-O: looked for {', '.join((*_CONTAINERD, _CRIO))}.",
            "A runtime without NVIDIA's handler starts containers without their GPUs.",
            _CONFIGURE.format("containerd", "containerd"),
            trouble=Trouble.NO_RUNTIME,
            follows=(Trouble.NO_GPU,),
        )


def _handler(scene: Scene, host: Roots, name: str, place: str, facts: RuntimeFacts) -> Iterator[Finding]:
    if scene.only_cdi:
        return
    if not facts.nvidia:
        yield problem(
            EXAMINATION,
            f"{place} has no handler for NVIDIA's runtime (there are {', '.join(sorted(facts.handlers)) or 'none'}).",
            "Containers start, and see no GPU, since nobody acts on NVIDIA_VISIBLE_DEVICES.",
            _CONFIGURE.format(name, name),
            trouble=Trouble.NO_RUNTIME,
            follows=(Trouble.NO_GPU,),
        )
        return
    for handler in facts.nvidia:
        program = facts.handlers[handler]
        if program.startswith("/") and not host.path(program).exists():
            yield problem(
                EXAMINATION,
                f"The handler {handler} in {place} runs {program}, which is not there.",
                "Pods with this handler do not start.",
                "Install the NVIDIA Container Toolkit on the node.",
                trouble=Trouble.NO_RUNTIME,
                follows=(Trouble.NO_GPU,),
            )
            return
    if facts.default in facts.nvidia:
        yield ok(EXAMINATION, f"{name} runs NVIDIA's runtime by default (handler {facts.default}).")
    else:
        yield ok(
            EXAMINATION,
            f"{name} has NVIDIA's runtime as handler {', '.join(facts.nvidia)}; the default is {facts.default}.",
            f"Pods that use GPUs, the plugin's among them, need a RuntimeClass with this handler: runtimeClassName: "
            f"{facts.nvidia[0]}.",
        )


def _cdi(name: str, place: str, facts: RuntimeFacts) -> Iterator[Finding]:
    if facts.cdi is False:
        yield problem(
            CDI,
            f"CDI is turned off in {place}.",
            "Containers start without the devices that the plugin names, or not at all.",
            f"Set enable_cdi = true, and restart {name}.",
        )
    elif facts.cdi is None:
        yield warning(
            CDI,
            f"{place} does not say whether CDI is read.",
            "containerd 1.7 reads it only when told to; older versions cannot.",
            "Set enable_cdi = true in the CRI plugin's section, or use containerd 2.",
        )
    elif not {SPEC_DIRECTORY, SPEC_DIRECTORY.removeprefix("/var")} & set(facts.cdi_directories):
        yield problem(
            CDI,
            f"{name} reads CDI specifications from {', '.join(facts.cdi_directories)} only.",
            f"The plugin's are in {SPEC_DIRECTORY}; containers that get GPUs do not start.",
            f"Add {SPEC_DIRECTORY} to cdi_spec_dirs in {place}, and restart {name}.",
        )
    else:
        yield ok(CDI, f"{name} reads CDI specifications from {SPEC_DIRECTORY}.")


def _first(host: Roots) -> str | None:
    return next((place for place in _CONTAINERD if host.path(place).is_file()), None)


def _crio_place(host: Roots) -> str | None:
    return _CRIO if host.path(_CRIO).is_file() or host.path(_CRIO_PARTS).is_dir() else None


def _containerd(host: Roots, place: str) -> RuntimeFacts:
    document = _toml(host.path(place))
    for pattern in document.get("imports") or ():
        # The patterns are the host's paths, absolute or beside the file.
        folder, _, name = str(pattern).rpartition("/")
        directory = host.path(folder) if folder.startswith("/") else host.path(place).parent / folder
        for part in sorted(directory.glob(name)):
            document = merged(document, _toml(part))
    return containerd_facts(document)


def _crio(host: Roots, place: str) -> RuntimeFacts:
    parts = [host.path(place), *sorted(host.path(_CRIO_PARTS).glob("*"))]
    document: Mapping[str, Any] = {}
    for part in parts:
        if part.is_file():
            document = merged(document, _toml(part))
    return crio_facts(document)


def _toml(path: Path) -> dict[str, Any]:
    return tomllib.loads(read_regular(path, most=_LARGEST).decode())
