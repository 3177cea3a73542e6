"""A node's GPUs grouped by product, in an order that does not depend on how the driver enumerates them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gpu_core.devices.model import Gpu
from gpu_core.labels.labeler import Described
from gpu_core.labels.values import LIMIT
from gpu_core.labels.written import Written, written

MIB = 1024 * 1024

_FAMILIES = {1: "tesla", 2: "fermi", 3: "kepler", 5: "maxwell", 6: "pascal", 9: "hopper"}
_LATER_FAMILIES = {10: "blackwell", 12: "blackwell", 13: "rubin"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """All GPUs of one product name. `example` is the one whose facts stand for them.

    `marked` tells that labels need a checksum of the name to tell it from those of other products on the node.
    """

    name: str
    gpus: tuple[Gpu, ...]
    example: Gpu
    marked: bool = False

    def written(self, *, suffix: str = "", limit: int = LIMIT) -> Written:
        """Write the name as a label's value, with `suffix` behind it."""
        return written("GPU model", self.name, suffix=suffix, limit=limit, marked=self.marked)

    @property
    def whole(self) -> tuple[Gpu, ...]:
        """The GPUs that are not partitioned."""
        return tuple(gpu for gpu in self.gpus if not gpu.mig_enabled)

    @property
    def memory_mib(self) -> int | None:
        """Memory of one GPU in MiB, None where it is not known."""
        return self.example.memory // MIB if self.example.memory else None

    @property
    def compute_capability(self) -> tuple[int, int] | None:
        """The compute capability, None where it is not known."""
        capability = self.example.compute_capability
        return capability if capability is not None and capability[0] > 0 else None

    @property
    def family(self) -> str | None:
        """The architecture's name, None where the compute capability is not known."""
        return None if self.compute_capability is None else family(*self.compute_capability)


def products(node: Described, gpus: Iterable[Gpu]) -> tuple[Product, ...]:
    """Group GPUs of a node by product name, the product that stands for the node first.

    That is a product with whole GPUs before one without, then the product with the most of them, then the one with
    the most memory, then the first by name.
    """
    by_name: dict[str, list[Gpu]] = {}
    for gpu in gpus:
        by_name.setdefault(gpu.name or "", []).append(gpu)
    marked = node.alike_products
    found = [
        Product(name=name, gpus=tuple(members), example=_example(members), marked=name in marked)
        for name, members in by_name.items()
    ]
    return tuple(sorted(found, key=_rank))


def family(major: int, minor: int) -> str:
    """Return the architecture's name for a compute capability, `undefined` for one that has none yet."""
    match major:
        case 7:
            return "volta" if minor < 5 else "turing"
        case 8:
            return "ampere" if minor < 9 else "ada-lovelace"
        case _:
            return _FAMILIES.get(major) or _LATER_FAMILIES.get(major, "undefined")


def _rank(product: Product) -> tuple[bool, int, int, int, str]:
    memory = product.memory_mib or 0
    return (not product.whole, -len(product.whole), -len(product.gpus), -memory, product.name)


def _example(gpus: Iterable[Gpu]) -> Gpu:
    """Choose the GPU that promises the least, so that the labels hold for every GPU of the product."""
    return min(gpus, key=lambda gpu: (gpu.mig_enabled, not gpu.memory, gpu.memory or 0, gpu.uuid))
