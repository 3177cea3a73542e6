"""The command line of gpu-feature-discovery, which is also installed as gfd."""

from __future__ import annotations

import os
import sys

from gpu_core.command import Subcommand, run_program
from gpu_core.config.programs import GPU_FEATURE_DISCOVERY
from gpu_feature_discovery.app import run
from gpu_feature_discovery.show_topology import show_topology

TOPOLOGY = Subcommand(
    name="topology",
    doc="Draw how the node's GPUs are linked and on which NUMA node each sits.",
    run=show_topology,
    examples=(("This machine", "topology"), ("A simulated node", "topology --simulated-node=v100x8-dgx1")),
)


def main() -> None:
    """Run the program named on the command line."""
    sys.exit(run_program(GPU_FEATURE_DISCOVERY, sys.argv[1:], os.environ, run, subcommands=[TOPOLOGY]))
