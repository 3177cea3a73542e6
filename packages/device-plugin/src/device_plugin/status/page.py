"""A node at a glance, as a page and as JSON: its resources, its GPUs and what is wrong with them, their links. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from device_plugin.status.view import NodeView, ResourceView
from gpu_core.devices.link_words import link_word
from gpu_core.web.attention import Attention, Concern, attention
from gpu_core.web.frame import (
    badge,
    checks_section,
    code_section,
    moment,
    named,
    page,
    prose,
    section,
    table,
)
from gpu_core.web.gpu_cards import cause_document, gpu_card, gpu_document, health_document, unreadable_card
from gpu_core.web.link_grid import links_grid
from gpu_core.web.markup import Markup, el, join


def node_page(view: NodeView) -> str:
    """Return the page: first what needs attention, then the rest."""
    state = attention(view.gpus, view.unreadable)
    sections = [
        _attention(view, state) if state.gpus else None,
        checks_section(view.checks),
        _resources(view.resources),
        _healthy(view, state),
        section("Links", links_grid([gpu.index for gpu in view.gpus], view.links)) if len(view.links) > 1 else None,
        code_section("Configuration in use", _config_title(view), view.config.text),
    ]
    parts = [
        f"Version {view.version}",
        f"driver {view.driver}" if view.driver else "no driver version known",
        f"CUDA {view.cuda}" if view.cuda else "",
        f"platform {view.platform}" if view.platform else "",
        f"as of {moment(view.now)}",
    ]
    return page(
        title=f"{view.program} on {view.node}" if view.node else view.program,
        about=", ".join(part for part in parts if part) + ".",
        checks=view.checks,
        sections=sections,
        headline=state.text,
        concern=bool(state.gpus),
    )


def _config_title(view: NodeView) -> str:
    name = view.config.name or "no config file; flags, variables and defaults"
    return f"{name} (SHA-256 {view.config.digest[:12]})" if view.config.name else name


def _resources(resources: Iterable[ResourceView]) -> Markup:
    rows = [
        (
            el("strong", named(resource.name)),
            join(
                badge(
                    f"{resource.healthy_devices} of {len(resource.devices)} healthy",
                    good=resource.healthy == resource.listed,
                ),
                f" {resource.healthy} of {resource.listed} shares" if resource.replicas > 1 else None,
            ),
            _sharing(resource),
            join(
                badge("ok" if resource.kubelet.ok else "no", good=resource.kubelet.ok),
                " ",
                prose(resource.kubelet.reason),
            ),
        )
        for resource in resources
    ]
    if not rows:
        return section("Resources", el("p", "Nothing is offered to the kubelet.", class_="card"))
    return section("Resources", table(("Resource", "Devices", "Sharing", "Kubelet"), rows))


def _sharing(resource: ResourceView) -> str:
    return f"{resource.sharing}, {resource.replicas} each" if resource.replicas > 1 else "whole devices"


def _attention(view: NodeView, state: Attention) -> Markup:
    cards = [(gpu.index, gpu_card(gpu, view.now, unhealthy=True)) for gpu in view.gpus if gpu.index in state.gpus]
    cards += [(index, unreadable_card(index, reason, view.now)) for index, reason in view.unreadable]
    shown = [card for _, card in sorted(cards, key=lambda each: each[0])]
    return section(f"GPUs that need attention ({len(cards)})", el("div", *shown, class_="cards"))


def _healthy(view: NodeView, state: Attention) -> Markup | None:
    cards = [gpu_card(gpu, view.now, unhealthy=False) for gpu in view.gpus if gpu.index not in state.gpus]
    if not state.total:
        return section("GPUs", el("p", "No GPU was found on this node.", class_="card"))
    title = "Healthy GPUs" if state.gpus else "GPUs"
    return section(f"{title} ({len(cards)})", el("div", *cards, class_="cards")) if cards else None


def node_document(view: NodeView) -> dict[str, Any]:
    """Return the node in JSON's terms; times are seconds since 1970."""
    state = attention(view.gpus, view.unreadable)
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
        "resources": [_resource_document(resource) for resource in view.resources],
        "gpus": [gpu_document(gpu) for gpu in view.gpus],
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
        "causes": [cause_document(cause) for cause in concern.causes],
        "recoveryAction": concern.recovery,
    }


def _resource_document(resource: ResourceView) -> dict[str, Any]:
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
                **health_document(device.health),
            }
            for device in resource.devices
        ],
    }
