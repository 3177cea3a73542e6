"""Nodes as the status page shows them, small and large, healthy and unhealthy."""

from __future__ import annotations

from dataclasses import replace

from device_plugin.status.view import ConfigView, DeviceView, NodeView, ResourceView
from gpu_core.devices.model import LinkLevel, PairLink
from gpu_core.runtime.probes import Check
from gpu_core.web.gpus import CauseView, GpuView, HealthView, MigView

NOW = 1_700_000_000.0
HEALTHY = HealthView(healthy=True, reason="it was in order from the start", since=NOW - 86400, changed=False)
HEALTHY_AGAIN = HealthView(healthy=True, reason="it answers again", since=NOW - 100)
UNHEALTHY = HealthView(
    healthy=False,
    reason="XID 79 (GPU has fallen off the bus) occurred",
    since=NOW - 7200,
    cause="xid",
    advice="Drain the node and restart it.",
    also=(
        CauseView(
            cause="action",
            reason="the driver asks for recovery: reset",
            since=NOW - 60,
            advice="Take the pods off the GPU and reset it.",
        ),
    ),
    recovery="reset",
)
PART_UNHEALTHY = replace(UNHEALTHY, reason="XID 79 (GPU has fallen off the bus) occurred on this MIG device", also=())
CONFIG = "version: v1\nflags:\n  migStrategy: mixed\n"
FOLLOWED = Check(name="nvidia.com/gpu", ok=True, reason="The kubelet follows the list of devices")


def gpu(index: int, health: HealthView = HEALTHY, **more: object) -> GpuView:
    view = GpuView(
        index=index,
        uuid=f"GPU-5d204b67-1282-563e-b7c0-8759cc77a1{index:02d}",
        product="NVIDIA A100-SXM4-40GB",
        memory_mib=40960,
        pci_address=f"0000:{index:02x}:00.0",
        numa_node=index // 4,
        mig_enabled=False,
        health=health,
        offered=(("nvidia.com/gpu", 1),),
    )
    return replace(view, **more)  # type: ignore[arg-type]


def link(a: int, b: int) -> PairLink:
    if a == b:
        return PairLink()
    if a // 2 == b // 2:
        return PairLink(level=LinkLevel.SINGLE, nvlinks=12)
    return PairLink(level=LinkLevel.NODE if a // 4 == b // 4 else LinkLevel.SYSTEM)


def node(gpus: int = 4) -> NodeView:
    """Return a node of so many GPUs, of which the second is unhealthy and the last is partitioned."""
    migs = tuple(
        MigView(
            index=f"{gpus - 1}:{number}",
            uuid=f"MIG-{number}",
            profile="1g.5gb",
            memory_mib=4864,
            health=PART_UNHEALTHY if number == 1 else HEALTHY,
        )
        for number in range(3)
    )
    views = [
        gpu(index, UNHEALTHY if index == 1 else HEALTHY_AGAIN if index == 2 else HEALTHY) for index in range(gpus - 1)
    ]
    views.append(gpu(gpus - 1, PART_UNHEALTHY, mig_enabled=True, migs=migs, offered=(("nvidia.com/mig-1g.5gb", 3),)))
    devices = tuple(
        DeviceView(
            uuid=view.uuid,
            index=str(view.index),
            product=view.product,
            ids=tuple(f"{view.uuid}::{share}" for share in range(4)),
            health=view.health,
        )
        for view in views[:-1]
    )
    return NodeView(
        program="NVIDIA Device Plugin",
        version="0.1.0",
        node="node-a.example.internal",
        now=NOW,
        platform="nvml",
        driver="550.90.07",
        cuda="12.4",
        checks=(Check(name="GPUs", ok=True, reason=f"{gpus} found", concern=True), FOLLOWED),
        config=ConfigView(name="shared", digest="2192df8dc9637e26d542", text=CONFIG),
        gpus=tuple(views),
        unreadable=((gpus, "nvmlDeviceGetHandleByIndex failed with GPU_IS_LOST"),),
        resources=(
            ResourceView(name="nvidia.com/gpu", sharing="time-slicing", replicas=4, devices=devices, kubelet=FOLLOWED),
        ),
        links=tuple(tuple(link(a, b) for b in range(gpus)) for a in range(gpus)),
    )


EMPTY = NodeView(
    program="NVIDIA Device Plugin",
    version="0.1.0",
    node="",
    now=NOW,
    platform="",
    driver="",
    cuda="",
    checks=(Check(name="GPUs", ok=False, reason="no driver"),),
    config=ConfigView(name="", digest="", text="version: v1\n"),
)


def healthy(gpus: int = 4) -> NodeView:
    """Return a node of so many GPUs that are all healthy."""
    whole = node(gpus + 1)
    return replace(
        whole,
        gpus=tuple(gpu(index) for index in range(gpus)),
        unreadable=(),
        resources=(),
        links=(),
        checks=(Check(name="GPUs", ok=True, reason=f"{gpus} found"), FOLLOWED),
    )
