"""A Kubernetes Event about a Node, as `kubectl describe node` shows it. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

NAMESPACE = "default"
"""Where Events of things without a namespace live."""

LONGEST_MESSAGE = 1024
"""What the API server accepts, in characters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class News:
    """What an Event tells: whether it warns, its reason as one word in CamelCase, its message, cut to what fits."""

    warning: bool
    reason: str
    message: str

    def __post_init__(self) -> None:
        if len(self.message) > LONGEST_MESSAGE:
            object.__setattr__(self, "message", self.message[: LONGEST_MESSAGE - 1] + "…")


@dataclass(frozen=True, slots=True, kw_only=True)
class Occurrences:
    """How often something was told, and when first and last, in UTC."""

    count: int
    first: datetime
    last: datetime


def node_event(*, node: str, component: str, news: News, seen: Occurrences, unique: str) -> dict[str, Any]:
    """Return the Event. `unique` tells Events of one node apart."""
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{node}.{unique}", "namespace": NAMESPACE},
        # The kubelet, too, names the node where the UID belongs, and kubectl looks for that.
        "involvedObject": {"kind": "Node", "apiVersion": "v1", "name": node, "uid": node},
        "type": "Warning" if news.warning else "Normal",
        "reason": news.reason,
        "message": news.message,
        "source": {"component": component, "host": node},
        "firstTimestamp": _stamp(seen.first),
        "lastTimestamp": _stamp(seen.last),
        "count": seen.count,
    }


def repetition(seen: Occurrences) -> dict[str, Any]:
    """Return the merge patch that makes an Event tell of another occurrence, as the kubelet's own Events do."""
    return {"count": seen.count, "lastTimestamp": _stamp(seen.last)}


def _stamp(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
