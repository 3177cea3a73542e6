"""`nvidia-device-plugin cdi`: shows the CDI specifications of this node to a person or a script."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpu_core.cdi.model import Spec
from gpu_core.cdi.names import CdiClass, qualified_name
from gpu_core.cdi.write import text
from gpu_core.command import Invocation, Subcommand, tell
from gpu_core.config.programs.options import Group, setting
from gpu_core.errors import UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
class CdiSettings:
    """The flags of `cdi`."""

    output: str = setting(
        "output",
        [],
        "File for the specification of GPUs; empty for standard output.",
        default="",
        group=Group.COMMAND,
    )


def show_cdi(invocation: Invocation) -> int:
    """Print the specifications, or the names of their devices, and return 0. Raises SuiteError."""
    (what,) = invocation.arguments
    if what not in ("generate", "list"):
        raise UsageError(f"cdi takes generate or list, not {what!r}; see cdi --help")
    specs = _specs(invocation.load())
    if what == "list":
        names = sorted(qualified_name(cdi_class, device.name) for cdi_class, spec in specs for device in spec.devices)
        tell("".join(f"{name}\n" for name in names))
        return 0
    output = invocation.own_settings().output
    documents = [text(spec) for _, spec in specs]
    if output:
        _write(Path(output), documents)
    else:
        tell("".join(documents))
    return 0


def _specs(loaded: Any) -> list[tuple[CdiClass, Spec]]:
    from device_plugin.allocation.provision import node_specifications  # noqa: PLC0415  Only this subcommand needs them here.
    from gpu_core.hardware.source import node_source  # noqa: PLC0415

    settings = loaded.settings
    source = node_source(settings.simulated_node, settings.simulated_events)
    specs = node_specifications(loaded.config, settings, source)
    return [(cdi_class, spec) for cdi_class, spec in sorted(specs.items()) if spec is not None]


def _write(path: Path, documents: list[str]) -> None:
    from gpu_core.files import write_where_asked  # noqa: PLC0415

    if len(documents) > 1:
        raise UsageError(
            "The node has several specifications, and a file holds one. Leave --output away, or ask for fewer classes."
        )
    try:
        write_where_asked(path, "".join(documents).encode())
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror or error}.") from error


CDI = Subcommand(
    name="cdi",
    doc="Show the CDI specifications of this node (generate), or the names of their devices (list).",
    arguments=("generate|list",),
    run=show_cdi,
    settings=CdiSettings,
    examples=(
        ("The specification of this node", "cdi generate --device-list-strategy=cdi-cri"),
        ("Into a file that runtimes read", "cdi generate --output=/etc/cdi/nvidia.json --cdi-extra-names"),
        ("The names on a simulated node", "cdi list --simulated-node=a100-mig-mixed"),
    ),
)
