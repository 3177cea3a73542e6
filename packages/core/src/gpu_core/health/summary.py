"""What is wrong with which GPUs and MIG devices, as numbers, Events and the node's condition tell it. Pure.

The name of a condition decides how it reads. One that ends in `Healthy` or `Ready`, as `GPUHealthy`, is True while all
GPUs are healthy; any other, as `GpuUnhealthy` or `GPUProblem`, is True while one of them is unhealthy, like the
conditions of node-problem-detector.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from gpu_core.counted import all_of
from gpu_core.health.book import HealthBook
from gpu_core.health.ledger import Transition


def unit_name(book: HealthBook, uuid: str) -> str:
    """Return what a person calls a GPU or MIG device: its kind, its index, its product or profile, its UUID."""
    for gpu in book.gpus:
        if gpu.uuid == uuid:
            return f"GPU {gpu.index} ({gpu.name or 'unknown product'}, {uuid})"
        for mig in gpu.mig_devices:
            if mig.uuid == uuid:
                return f"MIG device {mig.full_index} ({mig.profile}, {uuid})"
    return f"Device {uuid}"


_GOOD = re.compile(r"(?<![Uu]n)(?<!UN)([Hh]ealthy|[Rr]eady)$")
_MOST_NAMED = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """A condition's status (True, False, Unknown), its reason in one word, and its message."""

    status: str
    reason: str
    message: str


def condition_of(type_: str, book: HealthBook) -> Condition:
    """Return what a condition of that type says about the node's GPUs."""
    if not book.gpus:
        return Condition(status="Unknown", reason="NoGpu", message="No GPU is known on this node.")
    unhealthy: dict[str, str] = {}
    for uuid, _, entry in book.unhealthy():
        unhealthy.setdefault(uuid, entry.reason)
    good_is_true = _GOOD.search(type_) is not None
    if not unhealthy:
        message = f"{all_of(len(book.gpus), 'GPU')} healthy."
        return Condition(status=str(good_is_true), reason="GpusHealthy", message=message)
    told = _listed([f"{unit_name(book, uuid)}: {reason}" for uuid, reason in unhealthy.items()])
    return Condition(status=str(not good_is_true), reason="GpusUnhealthy", message=f"{told}.")


def patch(type_: str, condition: Condition, *, since: str, now: datetime) -> dict[str, Any]:
    """Return the strategic merge patch of a Node's status, in which conditions are told apart by their type.

    `since` is when the status last changed, as Kubernetes writes times.
    """
    return {
        "status": {
            "conditions": [
                {
                    "type": type_,
                    "status": condition.status,
                    "reason": condition.reason,
                    "message": condition.message,
                    "lastHeartbeatTime": stamp(now),
                    "lastTransitionTime": since,
                }
            ]
        }
    }


def changed_at(type_: str, condition: Condition, node: dict[str, Any], now: datetime) -> str:
    """Return since when a condition has its status: what the Node says, if it says the same already, else now."""
    status = node.get("status")
    present = status.get("conditions") if isinstance(status, Mapping) else None
    for entry in present if isinstance(present, list) else ():
        if isinstance(entry, Mapping) and (entry.get("type"), entry.get("status")) == (type_, condition.status):
            since = entry.get("lastTransitionTime")
            return since if isinstance(since, str) and since else stamp(now)
    return stamp(now)


def stamp(moment: datetime) -> str:
    """Return a time in UTC as Kubernetes writes it."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _listed(texts: Iterable[str]) -> str:
    texts = list(texts)
    more = len(texts) - _MOST_NAMED
    return "; ".join(texts[:_MOST_NAMED]) + (f"; and {more} more" if more > 0 else "")


UNHEALTHY = "GpuUnhealthy"
HEALTHY = "GpuHealthy"


@dataclass(frozen=True, slots=True, kw_only=True)
class News:
    """An Event: whether it warns, its reason in one word, its message."""

    warning: bool
    reason: str
    message: str


def news(transition: Transition, book: HealthBook) -> News:
    """Return what is told of a transition; `book` knows the device's name."""
    name = unit_name(book, transition.uuid)
    state = "healthy again" if transition.healthy else "unhealthy"
    return News(
        warning=not transition.healthy,
        reason=HEALTHY if transition.healthy else UNHEALTHY,
        message=f"{name} is {state}: {transition.reason}. {transition.advice}".rstrip(),
    )
