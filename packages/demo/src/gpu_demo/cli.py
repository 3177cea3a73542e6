"""The command `gpu-demo`."""

from __future__ import annotations

import argparse
import os
import signal
import sys


def main() -> None:
    """Show the programs at work on a simulated node; exit 1 with a message when a step fails."""
    parser = argparse.ArgumentParser(prog="gpu-demo", description=main.__doc__)
    parser.add_argument("--simulated-node", default="h100x8", metavar="NAME|FILE", help="the node (%(default)s)")
    parser.add_argument("--gpus", type=int, default=2, help="GPUs that a container asks for (%(default)s)")
    options = parser.parse_args()

    # gRPC reads this when it is imported; a plugin that ends would otherwise be announced across the tables.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    from gpu_demo.app import show  # noqa: PLC0415  for that reason
    from gpu_demo.programs import Programs  # noqa: PLC0415  only then

    # A demo that is told to end cleans up as after Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(show(Programs.beside(sys.executable, os.environ), node=options.simulated_node, gpus=options.gpus))
