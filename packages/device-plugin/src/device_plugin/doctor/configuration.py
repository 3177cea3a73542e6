"""The configuration: whether it can be used, and what in it would be ignored. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from device_plugin.doctor.finding import Finding, ok, problem, warning
from device_plugin.doctor.scene import Scene

EXAMINATION = "config"


def configuration(scene: Scene) -> Iterator[Finding]:
    """Say what was made of file, variables and flags."""
    if scene.refused:
        yield problem(
            EXAMINATION,
            " ".join(scene.refused),
            "The plugin ends at its start. Everything else here was looked at as if there were no configuration.",
            "Correct it; `nvidia-device-plugin check-config FILE` checks a file strictly.",
        )
        return
    for text in scene.warnings:
        yield warning(
            EXAMINATION, text, "It has no effect.", "Correct or remove it; --config-strict makes it an error."
        )
    where = scene.config_file or "flags, variables and defaults (there is no config file)"
    if not scene.warnings:
        yield ok(EXAMINATION, f"The configuration is valid: {where}.")
