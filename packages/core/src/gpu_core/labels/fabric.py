"""Which NVLink domain, across nodes, the GPUs belong to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gpu_core.devices.model import Fabric, Gpu
from gpu_core.labels.labeler import PREFIX, Described, Labels
from gpu_core.labels.values import label_value

_CALL = "DeviceGetGpuFabricInfo"


def label(node: Described) -> Labels:
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
    names = [f"{cluster}.{number}" for cluster, number in cliques]
    values = {f"{PREFIX}gpu.clique": label_value(names[0])} if len(names) == 1 else {}
    so = "gpu.clique speaks for the other GPUs alone" if values else "gpu.clique is left out"
    warnings = [*_pending(node.gpus, so), *_refused(node.gpus, so)]
    if len(names) > 1:
        warnings.append(f"The GPUs belong to several NVLink cliques ({', '.join(names)}), so {so}.")
    return Labels(values=values, warnings=tuple(warnings))


def _attached(fabric: Fabric) -> bool:
    return fabric.joined and bool(fabric.cluster_uuid.strip("0-"))


def _pending(gpus: Iterable[Gpu], so: str) -> Iterator[str]:
    waiting = [gpu.index for gpu in gpus if gpu.fabric is not None and gpu.fabric.pending]
    if waiting:
        yield f"The NVLink fabric has not taken in {_named(waiting)} yet, so {so} until it has."


def _refused(gpus: Iterable[Gpu], so: str) -> Iterator[str]:
    by_error: dict[int, list[int]] = {}
    for gpu in gpus:
        if gpu.fabric is not None and gpu.fabric.refused:
            by_error.setdefault(gpu.fabric.status, []).append(gpu.index)
    for error, indices in sorted(by_error.items()):
        yield (
            f"The NVLink fabric has not taken in {_named(indices)}, with NVML error {error}, so {so}. "
            "See the fabric in `nvidia-smi -q`, and the fabric manager."
        )


def _named(indices: list[int]) -> str:
    return f"GPU{'s' if len(indices) > 1 else ''} {', '.join(map(str, indices))}"
