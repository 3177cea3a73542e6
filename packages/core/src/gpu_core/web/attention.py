"""Which GPUs of a node somebody should look at, and why: what a page and `status` say first. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gpu_core.counted import all_of
from gpu_core.web.gpus import CauseView, GpuView, unreadable, whole_causes


@dataclass(frozen=True, slots=True, kw_only=True)
class Concern:
    """A GPU or MIG device with all that is wrong with it, the first first.

    `gpu` is the index of the GPU. `name` is what a person calls it. `uuid` is empty for a GPU that never told it, and
    `recovery` None where the driver tells no recovery action.
    """

    gpu: int
    name: str
    uuid: str
    causes: tuple[CauseView, ...]
    recovery: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Attention:
    """What somebody should look at, GPU by GPU, on a node of `total` GPUs."""

    concerns: tuple[Concern, ...]
    total: int

    @property
    def gpus(self) -> tuple[int, ...]:
        """The indices of the GPUs that need attention, in order."""
        return tuple(dict.fromkeys(concern.gpu for concern in self.concerns))

    @property
    def text(self) -> str:
        """The same in one line; empty for a node without GPUs."""
        count = len(self.gpus)
        listed = ", ".join(map(str, self.gpus))
        match self.total, count:
            case 0, _:
                return ""
            case _, 0:
                return f"{all_of(self.total, 'GPU')} healthy"
            case 1, _:
                return f"The only GPU needs attention: {listed}"
            case _, 1:
                return f"1 of {self.total} GPUs needs attention: {listed}"
        return f"{count} of {self.total} GPUs need attention: {listed}"


def attention(gpus: Sequence[GpuView], never_read: Sequence[tuple[int, str]]) -> Attention:
    """Return what needs attention: unhealthy GPUs and MIG devices, and those `never_read`, by index with the reason."""
    concerns = [concern for gpu in gpus for concern in _concerns(gpu)]
    concerns += [
        Concern(gpu=index, name=f"GPU {index}", uuid="", causes=(unreadable(reason),), recovery=None)
        for index, reason in never_read
    ]
    concerns.sort(key=lambda concern: concern.gpu)
    return Attention(concerns=tuple(concerns), total=len(gpus) + len(never_read))


def _concerns(gpu: GpuView) -> Iterator[Concern]:
    whole = whole_causes(gpu)
    if whole:
        name = f"GPU {gpu.index} ({gpu.product})"
        yield Concern(gpu=gpu.index, name=name, uuid=gpu.uuid, causes=whole, recovery=gpu.health.recovery)
    for mig in gpu.migs:
        own = tuple(cause for cause in mig.health.causes if cause not in whole)
        if own:
            name = f"MIG device {mig.index} ({mig.profile})"
            yield Concern(gpu=gpu.index, name=name, uuid=mig.uuid, causes=own, recovery=mig.health.recovery)
