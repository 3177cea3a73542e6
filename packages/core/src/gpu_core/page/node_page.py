"""A node at a glance: its resources, its GPUs with what is wrong with them, how they are linked. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from gpu_core.page.attention import Attention, attention, unreadable, whole_causes
from gpu_core.page.frame import (
    ago,
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
from gpu_core.page.links import links_grid
from gpu_core.page.markup import Markup, el, join
from gpu_core.page.node_view import CauseView, GpuView, HealthView, MigView, NodeView, ResourceView, recovery_text

_MIB_PER_GIB = 1024


def node_page(view: NodeView) -> str:
    """Return the page: first what needs attention, then the rest."""
    state = attention(view)
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
    cards = [(gpu.index, _gpu(gpu, view.now, unhealthy=True)) for gpu in view.gpus if gpu.index in state.gpus]
    cards += [(index, _unreadable(index, reason, view.now)) for index, reason in view.unreadable]
    shown = [card for _, card in sorted(cards, key=lambda each: each[0])]
    return section(f"GPUs that need attention ({len(cards)})", el("div", *shown, class_="cards"))


def _healthy(view: NodeView, state: Attention) -> Markup | None:
    cards = [_gpu(gpu, view.now, unhealthy=False) for gpu in view.gpus if gpu.index not in state.gpus]
    if not state.total:
        return section("GPUs", el("p", "No GPU was found on this node.", class_="card"))
    title = "Healthy GPUs" if state.gpus else "GPUs"
    return section(f"{title} ({len(cards)})", el("div", *cards, class_="cards")) if cards else None


def _gpu(gpu: GpuView, now: float, *, unhealthy: bool) -> Markup:
    return el(
        "article",
        el("div", el("h3", f"GPU {gpu.index}"), _state(gpu), class_="head"),
        el("p", gpu.product),
        _health(gpu.health, now, whole_causes(gpu)),
        _migs(gpu, now) if gpu.mig_enabled else None,
        el("p", " · ".join(_hardware(gpu)), class_="small"),
        *(_offered(name, shares) for name, shares in gpu.offered),
        el("p", gpu.uuid, class_="mono faint"),
        class_="card unhealthy" if unhealthy else "card",
    )


def _hardware(gpu: GpuView) -> Iterator[str]:
    if gpu.memory_mib is not None:
        yield _memory(gpu.memory_mib)
    if gpu.pci_address:
        yield f"PCI {gpu.pci_address}"
    if gpu.numa_node is not None:
        yield f"NUMA {gpu.numa_node}"


def _offered(resource: str, shares: int) -> Markup:
    times = None if shares == 1 else f"{shares} x "
    return el("p", el("span", "Offered as ", class_="faint"), times, named(resource), class_="small")


def _unreadable(index: int, reason: str, now: float) -> Markup:
    return el(
        "article",
        el("div", el("h3", f"GPU {index}"), badge("unreadable", good=False), class_="head"),
        *_told([unreadable(reason)], now),
        class_="card unhealthy",
    )


def _migs(gpu: GpuView, now: float) -> Markup:
    told = whole_causes(gpu)
    rows = [row for mig in gpu.migs for row in _mig(mig, now, told)]
    if not rows:
        return el("p", "MIG is on, and no MIG device has been made.", class_="small faint")
    return el("table", el("tbody", *rows), class_="small")


def _mig(mig: MigView, now: float, told: Sequence[CauseView]) -> Iterator[Markup]:
    yield el(
        "tr",
        el("td", mig.index),
        el("td", mig.profile),
        el("td", _memory(mig.memory_mib), class_="number"),
        el("td", _word(mig.health), class_="number"),
    )
    health = _health(mig.health, now, [cause for cause in mig.health.causes if cause not in told])
    if health is not None:
        yield el("tr", el("td", health, colspan=4))


def _state(gpu: GpuView) -> Markup:
    if not whole_causes(gpu) and any(not mig.health.healthy for mig in gpu.migs):
        return badge("partly unhealthy", good=False)
    return _word(gpu.health)


def _word(health: HealthView) -> Markup:
    return badge("healthy" if health.healthy else "unhealthy", good=health.healthy)


def _health(health: HealthView, now: float, causes: Sequence[CauseView]) -> Markup | None:
    """Return some of what is wrong, or why it is healthy again; nothing of what was always in order."""
    if health.healthy:
        again = f"{health.reason}, {_since(health.since, now)}"
        return el("p", again, class_="small faint") if health.changed else None
    if not causes:
        return None
    return el("div", *_told(causes, now), _line("Recovery action", recovery_text(health.recovery)))


def _told(causes: Iterable[CauseView], now: float) -> Iterator[Markup]:
    """Give what happened, since when, and what helps, in the whole width of a phone."""
    for cause in causes:
        yield el("p", el("strong", prose(cause.reason)))
        if cause.since is not None:
            yield _line("Since", _since(cause.since, now))
        yield _line("What helps", cause.advice)


def _line(name: str, text: str) -> Markup:
    return el("p", el("span", f"{name}: ", class_="faint"), text, class_="small")


def _since(since: float, now: float) -> str:
    return f"{moment(since)}, for {ago(now - since)}"


def _memory(mib: int) -> str:
    return f"{mib / _MIB_PER_GIB:.1f} GiB" if mib >= _MIB_PER_GIB else f"{mib} MiB"
