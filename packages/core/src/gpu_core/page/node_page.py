"""A node at a glance: its resources, its GPUs with what is wrong with them, how they are linked. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gpu_core.page.frame import ago, badge, checks_section, code_section, facts, moment, page, section, table
from gpu_core.page.links import links_grid
from gpu_core.page.markup import Markup, el, join
from gpu_core.page.node_view import GpuView, HealthView, MigView, NodeView, ResourceView

_MIB_PER_GIB = 1024


def node_page(view: NodeView) -> str:
    """Return the page."""
    sections = [
        checks_section(view.checks),
        _resources(view.resources),
        _gpus(view),
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
        foot="Reload the page to look again.",
    )


def _config_title(view: NodeView) -> str:
    name = view.config.name or "no config file; flags, variables and defaults"
    return f"{name} (SHA-256 {view.config.digest[:12]})" if view.config.name else name


def _resources(resources: Iterable[ResourceView]) -> Markup:
    rows = [
        (
            el("strong", resource.name),
            badge(f"{resource.healthy} of {resource.listed} healthy", good=resource.healthy == resource.listed),
            _sharing(resource),
            join(badge("ok" if resource.kubelet.ok else "no", good=resource.kubelet.ok), f" {resource.kubelet.reason}"),
        )
        for resource in resources
    ]
    if not rows:
        return section("Resources", el("p", "Nothing is offered to the kubelet.", class_="card"))
    return section("Resources", table(("Resource", "Devices", "Sharing", "Kubelet"), rows))


def _sharing(resource: ResourceView) -> str:
    return f"{resource.sharing}, {resource.replicas} each" if resource.replicas > 1 else "whole devices"


def _gpus(view: NodeView) -> Markup:
    cards = [_gpu(gpu, view.now) for gpu in view.gpus]
    cards += [_unreadable(index, reason) for index, reason in view.unreadable]
    if not cards:
        return section("GPUs", el("p", "No GPU was found on this node.", class_="card"))
    return section(f"GPUs ({len(cards)})", el("div", *cards, class_="cards"))


def _gpu(gpu: GpuView, now: float) -> Markup:
    return el(
        "article",
        el("div", el("h3", f"GPU {gpu.index}"), _word(gpu.health), class_="head"),
        el("p", gpu.product),
        _why(gpu.health, now),
        facts(
            (
                ("Memory", _memory(gpu.memory_mib)),
                ("PCI", gpu.pci_address),
                ("NUMA", "" if gpu.numa_node is None else str(gpu.numa_node)),
                ("Offered as", join(*(el("div", _offered(name, shares)) for name, shares in gpu.offered))),
            )
        ),
        el("p", gpu.uuid, class_="mono faint"),
        _migs(gpu.migs, now) if gpu.mig_enabled else None,
        class_="card" if gpu.health.healthy else "card sick",
    )


def _offered(resource: str, shares: int) -> str:
    return resource if shares == 1 else f"{shares} x {resource}"


def _unreadable(index: int, reason: str) -> Markup:
    return el(
        "article",
        el("div", el("h3", f"GPU {index}"), badge("unreadable", good=False), class_="head"),
        el("p", reason),
        class_="card sick",
    )


def _migs(migs: Iterable[MigView], now: float) -> Markup:
    rows = [row for mig in migs for row in _mig(mig, now)]
    if not rows:
        return el("p", "MIG is on, and no MIG device has been made.", class_="small faint")
    return el("table", el("tbody", *rows), class_="small")


def _mig(mig: MigView, now: float) -> Iterator[Markup]:
    yield el(
        "tr",
        el("td", mig.index),
        el("td", mig.profile),
        el("td", _memory(mig.memory_mib), class_="number"),
        el("td", _word(mig.health), class_="number"),
    )
    why = _why(mig.health, now)
    if why is not None:
        yield el("tr", el("td", why, colspan=4))


def _word(health: HealthView) -> Markup:
    return badge("healthy" if health.healthy else "unhealthy", good=health.healthy)


def _why(health: HealthView, now: float) -> Markup | None:
    if health.healthy and not health.changed:
        return None
    return el(
        "p", f"{health.reason}, for {ago(now - health.since)} (since {moment(health.since)})", class_="small faint"
    )


def _memory(mib: int | None) -> str:
    if mib is None:
        return ""
    return f"{mib / _MIB_PER_GIB:.1f} GiB" if mib >= _MIB_PER_GIB else f"{mib} MiB"
