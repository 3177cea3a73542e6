"""`simulated-nodes`: list the nodes that come along for `--simulated-node`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum

from gpu_core.command.subcommands import Invocation, Subcommand
from gpu_core.command.tell import tell
from gpu_core.config.programs.options import Group, setting


class OutputFormat(StrEnum):
    """How the list is written."""

    TEXT = "text"
    JSON = "json"


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedNodesSettings:
    """The flags of simulated-nodes."""

    format: OutputFormat = setting(
        "format",
        [],
        "Write the list as text for people or as JSON for programs.",
        default=OutputFormat.TEXT,
        group=Group.COMMAND,
        ours=True,
    )


def run(invocation: Invocation) -> int:
    """Print the nodes by name, each with what it is, and return 0."""
    from gpu_core.devices.simulated.files import describe_nodes  # noqa: PLC0415  Only this subcommand needs it.

    settings: SimulatedNodesSettings = invocation.own_settings()
    nodes = describe_nodes()
    if settings.format is OutputFormat.JSON:
        listed = [{"name": name, "description": description} for name, description in nodes]
        tell(json.dumps(listed, indent=2, ensure_ascii=False) + "\n")
    else:
        width = max(len(name) for name, _ in nodes)
        tell("".join(f"{name:{width}}  {description}\n" for name, description in nodes))
    return 0


SIMULATED_NODES = Subcommand(
    name="simulated-nodes",
    doc="List the simulated nodes that come along for --simulated-node.",
    run=run,
    settings=SimulatedNodesSettings,
    examples=(("Which there are", "simulated-nodes"),),
)
