"""Whether the node is a guest with virtual GPUs, and which driver its host runs."""

from __future__ import annotations

from collections.abc import Iterable

from gpu_core.devices.model import PciFacts
from gpu_core.labels.model import PREFIX, Labels, Node
from gpu_core.labels.pci_capability import Unclear, VgpuHost, vgpu_host
from gpu_core.labels.values import label_value


def label(node: Node) -> Labels:
    """`vgpu.present`, and `vgpu.host-driver-version` and `-branch` where it is true.

    These labels need no driver. They are left out where the PCI bus, or an NVIDIA function on it, cannot be read.
    """
    functions = node.facts.pci
    if functions is None:
        return Labels(warnings=("The PCI bus cannot be read, so the vgpu labels are left out.",))
    unread = [function.address for function in functions if not function.config]
    if unread:
        return Labels(
            warnings=(f"The PCI configuration of {_list(unread)} cannot be read, so the vgpu labels are left out.",)
        )
    host, unclear = _search(functions)
    values = {f"{PREFIX}vgpu.present": "true" if host else "false"}
    if host is not None:
        values[f"{PREFIX}vgpu.host-driver-version"] = label_value(host.driver_version)
        values[f"{PREFIX}vgpu.host-driver-branch"] = label_value(host.driver_branch)
    warnings = tuple(
        f"PCI function {_list(addresses)} {reason}; it is taken for no virtual GPU."
        for reason, addresses in unclear.items()
    )
    return Labels(values=values, warnings=warnings)


def _search(functions: Iterable[PciFacts]) -> tuple[VgpuHost | None, dict[str, list[str]]]:
    host: VgpuHost | None = None
    unclear: dict[str, list[str]] = {}
    for function in sorted(functions, key=lambda function: function.address):
        found = vgpu_host(function.config)
        if isinstance(found, Unclear):
            unclear.setdefault(found.reason, []).append(function.address)
        elif found is not None:
            host = found
    return host, unclear


def _list(addresses: Iterable[str]) -> str:
    return ", ".join(sorted(addresses))
