"""Simulated nodes: GPUs, MIG devices, links and faults from a file, for trying and testing without hardware."""

from __future__ import annotations

from gpu_core.devices.simulated.files import describe_nodes, load_node, node_names
from gpu_core.devices.simulated.node import SimulatedNode

__all__ = ["SimulatedNode", "describe_nodes", "load_node", "node_names"]
