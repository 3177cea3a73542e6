"""A GPU as a card of a page, and as JSON. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from gpu_core.web.frame import ago, badge, moment, named, prose
from gpu_core.web.gpus import CauseView, GpuView, HealthView, MigView, recovery_text, unreadable, whole_causes
from gpu_core.web.markup import Markup, el

_MIB_PER_GIB = 1024


def gpu_card(gpu: GpuView, now: float, *, unhealthy: bool) -> Markup:
    """Return the card of a GPU; an `unhealthy` one stands out. `now` is seconds since 1970."""
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


def unreadable_card(index: int, reason: str, now: float) -> Markup:
    """Return the card of a GPU that never answered in full."""
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


def gpu_document(gpu: GpuView) -> dict[str, Any]:
    """Return a GPU in JSON's terms."""
    return {
        "index": gpu.index,
        "uuid": gpu.uuid,
        "product": gpu.product,
        "memoryMiB": gpu.memory_mib,
        "pciAddress": gpu.pci_address,
        "numaNode": gpu.numa_node,
        "migEnabled": gpu.mig_enabled,
        **health_document(gpu.health),
        "offered": dict(gpu.offered),
        "migDevices": [
            {
                "index": mig.index,
                "uuid": mig.uuid,
                "profile": mig.profile,
                "memoryMiB": mig.memory_mib,
                **health_document(mig.health),
            }
            for mig in gpu.migs
        ],
    }


def health_document(health: HealthView) -> dict[str, Any]:
    """Return the health of a device in JSON's terms; times are seconds since 1970."""
    return {
        "healthy": health.healthy,
        "cause": health.cause,
        "reason": health.reason,
        "since": health.since,
        "advice": health.advice,
        "recoveryAction": health.recovery,
        "also": [cause_document(cause) for cause in health.also],
    }


def cause_document(cause: CauseView) -> dict[str, Any]:
    """Return one thing that is wrong in JSON's terms."""
    return {"cause": cause.cause, "reason": cause.reason, "since": cause.since, "advice": cause.advice}
