"""The subcommand `doctor`."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from gpu_core.command import Invocation, Subcommand, tell
from gpu_core.command.terminal import terminal_of
from gpu_core.config.model import Config
from gpu_core.config.programs.device_plugin import PluginSettings
from gpu_core.config.programs.options import Group, setting
from gpu_core.errors import ConfigError
from gpu_core.runtime.roots import Roots


class Format(StrEnum):
    """How findings are written."""

    TEXT = "text"
    JSON = "json"


class FailOn(StrEnum):
    """From which level on the exit code is 1."""

    PROBLEM = "problem"
    WARNING = "warning"


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorSettings:
    """The flags of `doctor`."""

    format: Format = setting(
        "format",
        [],
        "Write findings as text for people or as JSON for programs.",
        default=Format.TEXT,
        group=Group.COMMAND,
    )
    host_root: str = setting(
        "host-root",
        [],
        "Where the host's root is mounted, to look at its container runtime from inside a container.",
        default="",
        group=Group.COMMAND,
    )
    fail_on: FailOn = setting(
        "fail-on",
        [],
        "Level of a finding from which on the exit code is 1.",
        default=FailOn.PROBLEM,
        group=Group.COMMAND,
    )


def run(invocation: Invocation) -> int:
    """Print what was found; return 0, or 1 when the worst is as bad as --fail-on says. Raises SuiteError."""
    from device_plugin.doctor.examine import examine  # noqa: PLC0415  Only this subcommand needs them.
    from device_plugin.doctor.finding import Level, worst  # noqa: PLC0415
    from device_plugin.doctor.report import as_json, as_text  # noqa: PLC0415

    settings: DoctorSettings = invocation.own_settings()
    findings = examine(scene_of(invocation, settings))
    as_json_asked = settings.format is Format.JSON
    tell(as_json(findings) if as_json_asked else as_text(findings, terminal_of(sys.stdout, invocation.environ)))
    failing = {Level.PROBLEM} if settings.fail_on is FailOn.PROBLEM else {Level.PROBLEM, Level.WARNING}
    return 1 if worst(findings) in failing else 0


def scene_of(invocation: Invocation, settings: DoctorSettings) -> Any:
    """Gather what the examinations work on."""
    from device_plugin.doctor.machine import RealMachine, ask_driver, in_container  # noqa: PLC0415
    from device_plugin.doctor.scene import Scene  # noqa: PLC0415
    from gpu_core.hardware.source import node_source  # noqa: PLC0415

    config, own = Config(), PluginSettings()
    refused: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    try:
        loaded = invocation.load()
        loaded.raise_refused()
        config, own, warnings = loaded.config, loaded.settings, loaded.warnings
    except ConfigError as error:
        refused = tuple(line.strip() for line in str(error).splitlines())
    container = in_container(invocation.environ)
    host = None if container else Roots()
    if settings.host_root:
        host = Roots(root=Path(settings.host_root))
    return Scene(
        own=Roots(),
        host=host,
        machine=RealMachine(),
        container=container,
        config=config,
        settings=own,
        driver=ask_driver(node_source(own.simulated_node, own.simulated_events), config),
        config_file=own.config_file,
        refused=refused,
        warnings=warnings,
        environ=invocation.environ,
    )


DOCTOR = Subcommand(
    name="doctor",
    doc="Look at this node and say what keeps its GPUs from being served; nothing is changed.",
    run=run,
    settings=DoctorSettings,
    examples=(
        ("Look at this machine", "doctor"),
        ("As the plugin would run with a config file", "doctor --config-file=config.yaml"),
        ("In a container that has the host's files at /host", "doctor --host-root=/host"),
        ("For a script", "doctor --format=json"),
    ),
)
