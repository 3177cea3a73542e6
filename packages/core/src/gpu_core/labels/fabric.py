"""Which NVLink domain, across nodes, the GPUs belong to."""

from __future__ import annotations

from gpu_core.devices.model import Fabric
from gpu_core.labels.model import PREFIX, Labels, Node
from gpu_core.labels.values import label_value

_CALL = "DeviceGetGpuFabricInfo"


def label(node: Node) -> Labels:
    """`gpu.clique`: `<cluster uuid>.<clique id>`, when every attached GPU of the node names the same one."""
    failures = tuple(
        f"The NVLink fabric of GPU {gpu.index} is not known, so gpu.clique is left out: {fault}."
        for gpu in node.gpus
        for fault in gpu.gaps
        if fault.call == _CALL
    )
    if failures:
        return Labels(failures=failures)
    members = [gpu.fabric for gpu in node.gpus if gpu.fabric is not None and _attached(gpu.fabric)]
    cliques = sorted({(member.cluster_uuid, member.clique) for member in members})
    if not cliques:
        return Labels()
    if len(cliques) > 1:
        names = ", ".join(f"{cluster}.{number}" for cluster, number in cliques)
        return Labels(warnings=(f"The GPUs belong to several NVLink cliques ({names}), so gpu.clique is left out.",))
    cluster, number = cliques[0]
    return Labels(values={f"{PREFIX}gpu.clique": label_value(f"{cluster}.{number}")})


def _attached(fabric: Fabric) -> bool:
    return fabric.joined and bool(fabric.cluster_uuid.strip("0-"))
