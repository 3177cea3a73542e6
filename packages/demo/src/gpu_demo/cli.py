"""The command `gpu-demo`."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
import time
from pathlib import Path

import grpc

from gpu_demo.kubelet import NotEnoughDevicesError
from gpu_demo.programs import DemoError, Programs
from gpu_demo.screen import Screen
from gpu_demo.story import STEPS, Demo, tell

INTERRUPTED = 130


def main() -> None:
    """Show the programs at work on a simulated node; exit 1 with a message when a step fails."""
    parser = argparse.ArgumentParser(prog="gpu-demo", description=main.__doc__)
    parser.add_argument("--simulated-node", default="h100x8", metavar="NAME|FILE", help="the node (%(default)s)")
    parser.add_argument("--gpus", type=int, default=2, help="GPUs that a container asks for (%(default)s)")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(show(options.simulated_node, options.gpus))


def show(node: str, gpus: int) -> int:
    """Run the demo in a directory of its own and return the exit code."""
    screen = Screen.on_stdout(steps=STEPS)
    screen.title("k8s-gpu-suite", f"The real programs, on the simulated node {node}; no GPU and no cluster needed.")
    begun = time.monotonic()
    try:
        # Unix sockets have room for 107 bytes of path, so the directory has a short name.
        with tempfile.TemporaryDirectory(prefix="gpu-demo-") as directory:
            programs = Programs.beside(sys.executable, os.environ)
            tell(Demo(screen=screen, programs=programs, directory=Path(directory), node=node, gpus=gpus))
    except KeyboardInterrupt:
        sys.stderr.write("\nInterrupted; the programs are stopped and the files are gone.\n")
        return INTERRUPTED
    except (DemoError, NotEnoughDevicesError, grpc.RpcError) as error:
        sys.stderr.write(f"\nThe demo failed. {error}\n")
        return 1
    screen.say("")
    screen.done(f"everything came out as it should, in {time.monotonic() - begun:.1f} s")
    return 0
