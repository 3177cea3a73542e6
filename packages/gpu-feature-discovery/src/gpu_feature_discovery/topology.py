"""`gfd topology`: the node's GPUs drawn as a matrix of their links and a map of their NUMA nodes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from gpu_core.command import Invocation, Subcommand, tell
from gpu_core.config.programs.options import Group, setting
from gpu_core.devices.link_words import legend, link_word
from gpu_core.devices.model import Gpu, Inventory, PairLink

Links = tuple[tuple[PairLink, ...], ...]


def draw(inventory: Inventory) -> str:
    """Return the picture as text: the matrix, the NUMA nodes, and what the words mean. Needs links to be read."""
    gpus = inventory.gpus
    if not gpus:
        return "This node has no GPUs.\n"
    links = _links(inventory)
    matrix = _matrix(links)
    header = ["", *(f"GPU{gpu.index}" for gpu in gpus), "NUMA", "PCI ADDRESS", "MODEL"]
    rows = [[f"GPU{gpu.index}", *matrix[place], *_facts(gpu)] for place, gpu in enumerate(gpus)]
    lines = _columns([header, *rows], centred=len(gpus))
    lost = [f"GPU{gpu.index}  cannot be read: {gpu.fault}" for gpu in inventory.unreadable]
    ways = (link for a, row in enumerate(links) for b, link in enumerate(row) if a != b)
    meanings = [f"  {word:5} {meaning}" for word, meaning in legend(ways)]
    return "\n".join([*lines, *lost, "", *_numa(gpus), *(["", "Links:", *meanings] if meanings else [])]) + "\n"


def document(inventory: Inventory) -> dict[str, Any]:
    """Return the same for programs. `links[a][b]` is the way from the a-th to the b-th of `gpus`, in the same words."""
    return {
        "gpus": [
            {
                "index": gpu.index,
                "uuid": gpu.uuid,
                "product": gpu.name,
                "pciAddress": _address(gpu),
                "numaNode": gpu.numa_node,
            }
            for gpu in inventory.gpus
        ],
        "unreadable": [{"index": gpu.index, "reason": str(gpu.fault)} for gpu in inventory.unreadable],
        "links": _matrix(_links(inventory)),
    }


def _links(inventory: Inventory) -> Links:
    return inventory.links or tuple(tuple(PairLink() for _ in inventory.gpus) for _ in inventory.gpus)


def _matrix(links: Links) -> list[list[str]]:
    return [["X" if a == b else link_word(link) for b, link in enumerate(row)] for a, row in enumerate(links)]


def _facts(gpu: Gpu) -> list[str]:
    numa = "-" if gpu.numa_node is None else str(gpu.numa_node)
    return [numa, _address(gpu) or "-", gpu.name or "-"]


def _address(gpu: Gpu) -> str | None:
    return gpu.pci.address if gpu.pci is not None else gpu.pci_bus_id


def _columns(rows: list[list[str]], *, centred: int) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(
            cell.center(width) if 0 < column <= centred else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _numa(gpus: tuple[Gpu, ...]) -> list[str]:
    by_node: dict[int, list[str]] = {}
    for gpu in gpus:
        if gpu.numa_node is not None:
            by_node.setdefault(gpu.numa_node, []).append(f"GPU{gpu.index}")
    if not by_node:
        return ["NUMA nodes: not known"]
    return [f"NUMA node {node}: {', '.join(names)}" for node, names in sorted(by_node.items())]


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
        group=Group.COMMAND,
        ours=True,
    )


def show_topology(invocation: Invocation) -> int:
    """Print the picture of the node and return 0. Raises HardwareError where there is no driver to ask."""
    from gpu_core.devices.filter import apply  # noqa: PLC0415  only this subcommand needs them
    from gpu_core.hardware.source import node_source  # noqa: PLC0415

    settings: TopologySettings = invocation.own_settings()
    loaded = invocation.load()
    source = node_source(loaded.settings.simulated_node, loaded.settings.simulated_events)
    backend = source.open(loaded.config)
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
