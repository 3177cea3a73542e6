"""What an event says about the health of which devices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpu_core.devices.backend import DeviceEvent, EventKind
from gpu_core.devices.model import Gpu, MigDevice
from gpu_core.resources.xid_catalogue import xid_advice, xid_text
from gpu_core.resources.xids import XidPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Which GPUs and MIG devices an event makes unhealthy, by UUID, and in words why, or why none.

    `advice` is what helps, in whole sentences; empty for what is no XID.
    """

    unhealthy: tuple[str, ...] = ()
    reason: str
    advice: str = ""


def judge(event: DeviceEvent, gpus: Sequence[Gpu], policy: XidPolicy) -> Verdict:
    """Return what an event means for the GPUs of a node.

    Only XIDs that the policy does not ignore make devices unhealthy: all of them when the driver does not say on which
    GPU, those of the GPU and compute instance where it names either, else the GPU and so every part and share of it.
    """
    if event.kind is not EventKind.XID:
        return Verdict(reason=f"{event.kind} events do not change health")
    name, advice = xid_text(event.data), xid_advice(event.data)
    if not policy.is_fatal(event.data):
        return Verdict(reason=f"{name} is ignored", advice=advice)
    if event.gpu_uuid is None:
        return Verdict(
            unhealthy=tuple(gpu.uuid for gpu in gpus),
            reason=f"{name} occurred on a GPU that cannot be told",
            advice=advice,
        )
    gpu = next((gpu for gpu in gpus if gpu.uuid == event.gpu_uuid), None)
    if gpu is None:
        return Verdict(reason=f"{name} occurred on {event.gpu_uuid}, which is not managed here", advice=advice)
    concerns_part = event.gpu_instance is not None or event.compute_instance is not None
    # An instance on a GPU that has none is an event from before it was re-partitioned: caution takes the whole GPU.
    if not concerns_part or not gpu.mig_devices:
        return Verdict(unhealthy=(gpu.uuid,), reason=f"{name} occurred", advice=advice)
    parts = tuple(mig.uuid for mig in gpu.mig_devices if _concerns(event, mig))
    if not parts:
        return Verdict(reason=f"{name} occurred on an instance of {gpu.uuid} that has no MIG device", advice=advice)
    return Verdict(unhealthy=parts, reason=f"{name} occurred on this MIG device", advice=advice)


def _concerns(event: DeviceEvent, mig: MigDevice) -> bool:
    return event.gpu_instance in (None, mig.gpu_instance) and event.compute_instance in (None, mig.compute_instance)
