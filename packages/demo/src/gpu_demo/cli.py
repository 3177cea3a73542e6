"""The command `gpu-demo`."""

from __future__ import annotations

import os
import signal
import sys
from typing import Annotated

import typer

from gpu_core.command import tell
from gpu_core.devices.simulated.files import describe_nodes
from gpu_core.runtime.build import version

_HELP = """\
Show the programs at work on a simulated node: its labels, the device plugin and a kubelet, a container, a fault.

No GPU and no cluster is needed. The exit code is 1, with a message, when a step does not come out as it should.
"""
_EXAMPLES = """\
\b
Examples:
  Eight H100:
    gpu-demo
  One container with four GPUs, on a node with sixteen:
    gpu-demo --simulated-node=v100x16-dgx2 --gpus=4
  A node of your own:
    gpu-demo --simulated-node=./my-node.yaml
"""

# As with the programs themselves: plain text, since the boxes of rich mode cut long flags off.
app = typer.Typer(
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> None:
    """Run the demo, or show its help or what completes its command line."""
    app(prog_name="gpu-demo")


def _nodes(incomplete: str) -> list[tuple[str, str]]:
    return [(name, description) for name, description in describe_nodes() if name.startswith(incomplete)]


def _version(given: bool) -> None:
    if given:
        tell(f"gpu-demo version {version()}\n")
        raise typer.Exit


@app.command(help=_HELP, epilog=_EXAMPLES)
def demo(
    simulated_node: Annotated[
        str,
        typer.Option(
            metavar="NAME|FILE",
            help="The node: its name, or a node file. Default: h100x8.",
            autocompletion=_nodes,
            show_default=False,
        ),
    ] = "h100x8",
    gpus: Annotated[
        int | None,
        typer.Option(
            metavar="COUNT", min=1, help="GPUs that a container asks for. Default: 2, where there are so many."
        ),
    ] = None,
    _shown: Annotated[
        bool,
        typer.Option("--version", "-v", callback=_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    """Run the demo and end with its exit code."""
    # gRPC reads this when it is imported; a plugin that ends would otherwise be announced across the tables.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    from gpu_demo.app import show  # noqa: PLC0415  for that reason
    from gpu_demo.programs import Programs  # noqa: PLC0415  only then

    # A demo that is told to end cleans up as after Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(show(Programs.beside(sys.executable, os.environ), node=simulated_node, gpus=gpus))
