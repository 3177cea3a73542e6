"""The demo as a whole: a directory of its own, the story, and an exit code whatever happens."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import grpc

from gpu_core.errors import SuiteError
from gpu_demo.kubelet import NotEnoughDevicesError
from gpu_demo.node_facts import node_facts
from gpu_demo.programs import DemoError, Programs
from gpu_demo.screen import Screen
from gpu_demo.stage import Demo
from gpu_demo.story import steps, tell

INTERRUPTED = 130

# Unix sockets have room for 107 bytes of path, of which those of the demo take up half.
_LONGEST_PLACE = 50


def show(programs: Programs, *, node: str, gpus: int | None) -> int:
    """Run the demo and return the exit code: 0, 1 when a step fails, 130 when it is interrupted."""
    begun = time.monotonic()
    try:
        facts = node_facts(node)
        screen = Screen.on_stdout(steps=steps(facts))
        screen.title("k8s-gpu-suite", f"The real programs, on the simulated node {node}; no GPU and no cluster needed.")
        with tempfile.TemporaryDirectory(prefix="gpu-demo-", dir=_place()) as directory:
            tell(Demo(screen=screen, programs=programs, directory=Path(directory), node=node, facts=facts, gpus=gpus))
    except KeyboardInterrupt:
        sys.stderr.write("\nInterrupted; the programs are stopped and the files are gone.\n")
        return INTERRUPTED
    except SuiteError as error:
        sys.stderr.write(f"gpu-demo: {error}\n")
        return error.exit_code
    except (DemoError, NotEnoughDevicesError, grpc.RpcError) as error:
        sys.stderr.write(f"\nThe demo failed. {error}\n")
        return 1
    screen.say("")
    screen.done(f"everything came out as it should, in {time.monotonic() - begun:.1f} s")
    return 0


def _place() -> str:
    """Return the directory for temporary files, or the one of every machine where that has too long a path."""
    place = tempfile.gettempdir()
    return place if len(place) <= _LONGEST_PLACE else "/tmp"  # noqa: S108  What is made there has a name of its own.
