"""What is advertised to the kubelet: resources and the devices, or shares of devices, behind them."""

from __future__ import annotations

from dataclasses import dataclass

from gpu_core.config.words import AllocationPolicy, SharingStrategy
from gpu_core.devices.model import Gpu, MigDevice


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """One device as the kubelet knows it: a GPU, a MIG device, or a share of one.

    `id` is the kubelet's name: the UUID, or `<uuid>::<replica>` for a share. `uuid` is the GPU's or MIG
    device's own (`tegra` and `all` where the platform has none). `index` is `0` or, for MIG, `0:1`.
    `paths` are the device nodes that the container needs, as seen below the dev root. `replica` is the number of
    a share and `replicas` in how many parts its device is shared (None and 1 for a whole device).
    `gpu` is the physical GPU behind it; None on platforms that only have one pseudo device.
    """

    id: str
    uuid: str
    index: str
    paths: tuple[str, ...] = ()
    numa_node: int | None = None
    replica: int | None = None
    replicas: int = 1
    gpu: Gpu | None = None
    mig: MigDevice | None = None

    @property
    def physical(self) -> str:
        """The UUID of the physical GPU, or our own where there is none behind us."""
        return self.gpu.uuid if self.gpu is not None else self.uuid


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """One extended resource, with its devices in the order in which they are advertised.

    `name` is full (`nvidia.com/gpu`). `sharing` tells how its devices are shared (none for whole devices),
    `replicas` in how many parts at most (1 for whole devices). `aligned` resources hold GPUs and
    no MIG devices: which of their unshared devices are preferred follows from the links between them. All other
    choices follow `policy`.
    """

    name: str
    devices: tuple[Device, ...]
    sharing: SharingStrategy = SharingStrategy.NONE
    replicas: int = 1
    fail_requests_greater_than_one: bool = False
    policy: AllocationPolicy = AllocationPolicy.DISTRIBUTED
    aligned: bool = False
