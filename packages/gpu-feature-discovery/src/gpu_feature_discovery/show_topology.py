"""`gfd topology`: reads the node and draws it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum

from gpu_core.command import Invocation, Subcommand, tell
from gpu_core.config.programs.options import Group, setting


class OutputFormat(StrEnum):
    """How the node is shown."""

    TEXT = "text"
    JSON = "json"


@dataclass(frozen=True, slots=True, kw_only=True)
class TopologySettings:
    """The flags of topology."""

    format: OutputFormat = setting(
        "format",
        [],
        "Draw the node as text for people or write it as JSON for programs.",
        default=OutputFormat.TEXT,
        group=Group.LABELS,
        ours=True,
    )


def show_topology(invocation: Invocation) -> int:
    """Print the picture of the node and return 0. Raises HardwareError where there is no driver to ask."""
    from gpu_core.devices.driver_threads import DriverThreads  # noqa: PLC0415
    from gpu_core.devices.filter import apply  # noqa: PLC0415  only this subcommand needs them
    from gpu_feature_discovery.hardware import node_source  # noqa: PLC0415
    from gpu_feature_discovery.topology import document, draw  # noqa: PLC0415

    settings: TopologySettings = invocation.own_settings()
    loaded = invocation.load()
    backend = node_source(loaded, DriverThreads(), timestamp=0, warn=lambda _: None).open()
    try:
        inventory = backend.read(links=True)
    finally:
        backend.close()
    found = apply(inventory, loaded.config.devices)
    if settings.format is OutputFormat.JSON:
        tell(json.dumps(document(found), indent=2, ensure_ascii=False) + "\n")
    else:
        tell(draw(found))
    return 0


TOPOLOGY = Subcommand(
    name="topology",
    doc="Draw how the node's GPUs are linked and on which NUMA node each sits.",
    run=show_topology,
    settings=TopologySettings,
    examples=(
        ("This machine", "topology"),
        ("A simulated node", "topology --simulated-node=v100x8-dgx1"),
        ("For a script", "topology --format=json"),
    ),
)
