"""Short ways to open simulated nodes in tests, through the real binding and with a file of things that happen."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gpu_core.config.words import DeviceDiscoveryStrategy
from gpu_core.devices.backend import Backend
from gpu_core.devices.choose import open_backend
from gpu_core.devices.simulated.document import read_node
from gpu_core.devices.simulated.files import load_node, models
from gpu_core.devices.simulated.node import SimulatedNode

TOPOLOGIES = Path(__file__).parents[2] / "golden" / "topologies"


def topology(name: str) -> SimulatedNode:
    """Return a node whose answers by the original are recorded."""
    return load_node(str(TOPOLOGIES / f"{name}.yaml"))


def node(document: object) -> SimulatedNode:
    """Return the node of a document."""
    return read_node(document, "node", models())


@contextmanager
def opened(
    simulated: SimulatedNode,
    events: Path | None = None,
    *,
    strategy: DeviceDiscoveryStrategy = DeviceDiscoveryStrategy.AUTO,
) -> Iterator[Backend]:
    """Open a node as a program does, and close it."""
    backend = open_backend(strategy=strategy, simulated=simulated, simulated_events=events)
    try:
        yield backend
    finally:
        backend.close()


def say(events: Path, *lines: str) -> None:
    """Append to a file of things that happen."""
    with events.open("a", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in lines)
