"""A node as JSON, for `status` and for other programs. Pure."""

from __future__ import annotations

from typing import Any

from gpu_core.devices.link_words import link_word
from gpu_core.page.attention import Concern, attention
from gpu_core.page.node_view import CauseView, GpuView, HealthView, NodeView, ResourceView


def node_document(view: NodeView) -> dict[str, Any]:
    """Return the node in JSON's terms; times are seconds since 1970."""
    state = attention(view)
    return {
        "program": view.program,
        "version": view.version,
        "node": view.node,
        "time": view.now,
        "platform": view.platform,
        "driver": view.driver,
        "cuda": view.cuda,
        "ready": all(check.ok for check in view.checks),
        "attention": {
            "text": state.text,
            "gpus": list(state.gpus),
            "total": state.total,
            "concerns": [_concern(concern) for concern in state.concerns],
        },
        "checks": [{"name": check.name, "ok": check.ok, "reason": check.reason} for check in view.checks],
        "config": {"name": view.config.name, "digest": view.config.digest},
        "resources": [_resource(resource) for resource in view.resources],
        "gpus": [_gpu(gpu) for gpu in view.gpus],
        "unreadable": [{"index": index, "reason": reason} for index, reason in view.unreadable],
        "links": [
            ["" if a == b else link_word(link) for b, link in enumerate(row)] for a, row in enumerate(view.links)
        ],
    }


def _concern(concern: Concern) -> dict[str, Any]:
    return {
        "gpu": concern.gpu,
        "name": concern.name,
        "uuid": concern.uuid,
        "causes": [_cause(cause) for cause in concern.causes],
        "recoveryAction": concern.recovery,
    }


def _resource(resource: ResourceView) -> dict[str, Any]:
    return {
        "name": resource.name,
        "sharing": resource.sharing,
        "replicas": resource.replicas,
        "listed": resource.listed,
        "healthy": resource.healthy,
        "kubelet": {"ok": resource.kubelet.ok, "reason": resource.kubelet.reason},
        "devices": [
            {
                "ids": list(device.ids),
                "uuid": device.uuid,
                "index": device.index,
                "product": device.product,
                **_health(device.health),
            }
            for device in resource.devices
        ],
    }


def _gpu(gpu: GpuView) -> dict[str, Any]:
    return {
        "index": gpu.index,
        "uuid": gpu.uuid,
        "product": gpu.product,
        "memoryMiB": gpu.memory_mib,
        "pciAddress": gpu.pci_address,
        "numaNode": gpu.numa_node,
        "migEnabled": gpu.mig_enabled,
        **_health(gpu.health),
        "offered": dict(gpu.offered),
        "migDevices": [
            {
                "index": mig.index,
                "uuid": mig.uuid,
                "profile": mig.profile,
                "memoryMiB": mig.memory_mib,
                **_health(mig.health),
            }
            for mig in gpu.migs
        ],
    }


def _health(health: HealthView) -> dict[str, Any]:
    return {
        "healthy": health.healthy,
        "cause": health.cause,
        "reason": health.reason,
        "since": health.since,
        "advice": health.advice,
        "recoveryAction": health.recovery,
        "also": [_cause(cause) for cause in health.also],
    }


def _cause(cause: CauseView) -> dict[str, Any]:
    return {"cause": cause.cause, "reason": cause.reason, "since": cause.since, "advice": cause.advice}
