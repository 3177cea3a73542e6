"""CDI: whether our specifications can be written, what is in those that are there, and the tool that hooks run."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from device_plugin.doctor.finding import Finding, Trouble, ok, problem, skipped, warning
from device_plugin.doctor.scene import Scene
from gpu_core.cdi.names import SPEC_DIRECTORY
from gpu_core.files import read_regular

EXAMINATION = "CDI"

_LARGEST = 16 * 1024 * 1024
"""Bytes of a specification at the most."""


def cdi(scene: Scene) -> Iterator[Finding]:
    """Look at the directory and the files in it, where the plugin uses CDI."""
    if not scene.wants_cdi:
        yield ok(EXAMINATION, "The device list strategy does not use CDI.")
        return
    directory = scene.own.path(SPEC_DIRECTORY)
    if not directory.is_dir():
        writable = scene.machine.may(_existing(directory), write=True)
        if not writable:
            fact = f"{SPEC_DIRECTORY} is not there and cannot be made."
            yield problem(EXAMINATION, fact, *_NOT_WRITTEN, follows=(Trouble.NOT_ROOT,))
            return
    elif not scene.machine.may(directory, write=True):
        fact = f"{SPEC_DIRECTORY} may not be written to."
        yield problem(EXAMINATION, fact, *_NOT_WRITTEN, follows=(Trouble.NOT_ROOT,))
        return
    yield from _files(directory)
    yield from _hook(scene)


_NOT_WRITTEN = (
    "The plugin cannot write its specifications, and ends.",
    "Mount the host's /var/run/cdi there, writable, and run as root.",
)


def _files(directory: Path) -> Iterator[Finding]:
    kinds: Counter[str] = Counter()
    names = []
    for path in sorted(directory.glob("*.json")):
        try:
            document: Any = json.loads(read_regular(path, most=_LARGEST))
            kinds[str(document["kind"])] += 1
            names.append(path.name)
        except (OSError, ValueError, KeyError, TypeError) as error:
            yield problem(
                EXAMINATION,
                f"{path.name} in {SPEC_DIRECTORY} is no CDI specification: {error}.",
                "Runtimes complain about the whole directory, and containers with CDI devices may not start.",
                "Remove the file; the plugin writes its own anew when it starts.",
            )
    for kind, count in sorted(kinds.items()):
        if count > 1:
            yield warning(
                EXAMINATION,
                f"{count} files in {SPEC_DIRECTORY} describe {kind}.",
                "Devices of the same name in both are refused by runtimes as ambiguous.",
                "Remove the file that nobody maintains any more.",
            )
    listed = ", ".join(names) or "no files yet"
    yield ok(EXAMINATION, f"Specifications can be written to {SPEC_DIRECTORY} ({listed}).")


def _hook(scene: Scene) -> Iterator[Finding]:
    tool = scene.config.flags.plugin.nvidia_ctk_path
    if scene.host is None:
        yield skipped(EXAMINATION, f"Whether {tool} is on the host cannot be seen from here.")
    elif not scene.host.path(tool).exists():
        yield problem(
            EXAMINATION,
            f"{tool} is not on the host.",
            "The hooks of our specifications run it, so that containers with GPUs do not start.",
            "Install the NVIDIA Container Toolkit, or say where it is with --nvidia-cdi-hook-path.",
            follows=(Trouble.NO_GPU, Trouble.NO_RUNTIME),
        )


def _existing(path: Path) -> Path:
    while not path.exists() and path != path.parent:
        path = path.parent
    return path
