"""The subcommand `status`: what the plugin on this node serves, how healthy that is, and which pod holds what."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from gpu_core.command import Invocation, Subcommand, tell
from gpu_core.config.programs import settings as common_settings
from gpu_core.config.programs.options import Group, setting
from gpu_core.errors import KubeletError


class Format(StrEnum):
    """How the status is written."""

    TABLE = "table"
    JSON = "json"


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusSettings:
    """The flags of `status`. Two are the plugin's own, so that a config that is wrong does not matter here."""

    metrics_address: str = common_settings.metrics_address()
    device_plugin_dir: str = common_settings.device_plugin_dir()

    format: Format = setting(
        "format", [], "Write a table for people or JSON for programs.", default=Format.TABLE, group=Group.COMMAND
    )
    pod_resources_socket: str = setting(
        "pod-resources-socket",
        [],
        "Socket on which the kubelet tells which pod holds which device.",
        default="/var/lib/kubelet/pod-resources/kubelet.sock",
        group=Group.COMMAND,
    )


def run(invocation: Invocation) -> int:
    """Print the status and return 0. Raises SuiteError when no plugin can be asked."""
    from device_plugin.status.table import as_text, with_holders  # noqa: PLC0415  Only this subcommand needs them.

    own: StatusSettings = invocation.own_settings()
    document, notes = _ask(own.metrics_address, Path(own.device_plugin_dir))
    held, reason = _holders(Path(own.pod_resources_socket))
    document, notes = with_holders(document, held), [*notes, *reason]
    if own.format is Format.JSON:
        tell(json.dumps({**document, "notes": notes}, indent=2, ensure_ascii=False) + "\n")
    else:
        tell(as_text(document, notes))
    return 0


def _ask(address: str, directory: Path) -> tuple[dict[str, Any], list[str]]:
    from device_plugin.status.running import over_http, over_sockets  # noqa: PLC0415
    from gpu_core.web.addresses import parse_address  # noqa: PLC0415

    if not address:
        return over_sockets(directory), [_ONLY_HTTP]
    try:
        return over_http(parse_address(address)), []
    except KubeletError as error:
        return over_sockets(directory), [f"{error} Its sockets were asked instead; they tell no reasons."]


_ONLY_HTTP = "Reasons are told over HTTP only: give the plugin's --metrics-address."


def _holders(socket: Path) -> tuple[dict[tuple[str, str], str] | None, list[str]]:
    from gpu_kubelet.pods import holders  # noqa: PLC0415

    if not socket.exists():
        return None, [f"Which pod holds which device is not known: {socket} is not there."]
    try:
        return holders(socket), []
    except KubeletError as error:
        return None, [str(error)]


STATUS = Subcommand(
    name="status",
    doc="Ask the plugin that runs on this node what it serves, and the kubelet which pod holds which device.",
    run=run,
    settings=StatusSettings,
    examples=(
        ("On the node", "status --metrics-address=:9480"),
        ("In the plugin's pod, where the address is set", "status"),
        ("For a script", "status --format=json"),
    ),
)
