"""A Kubernetes Event about a Node, as `kubectl describe node` shows it. Pure."""

from __future__ import annotations

from datetime import datetime
from typing import Any

NAMESPACE = "default"
"""Where Events of things without a namespace live."""

LONGEST_MESSAGE = 1024
"""What the API server accepts, in characters."""


def node_event(
    *, node: str, component: str, warning: bool, reason: str, message: str, now: datetime, unique: str
) -> dict[str, Any]:
    """Return the Event. `reason` is one word in CamelCase, `now` is in UTC, `unique` tells Events of one node apart."""
    stamp = now.strftime("%Y-%m-%dT%H:%M:%SZ")
    cut = message if len(message) <= LONGEST_MESSAGE else message[: LONGEST_MESSAGE - 1] + "…"
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{node}.{unique}", "namespace": NAMESPACE},
        # The kubelet, too, names the node where the UID belongs, and kubectl looks for that.
        "involvedObject": {"kind": "Node", "apiVersion": "v1", "name": node, "uid": node},
        "type": "Warning" if warning else "Normal",
        "reason": reason,
        "message": cut,
        "source": {"component": component, "host": node},
        "firstTimestamp": stamp,
        "lastTimestamp": stamp,
        "count": 1,
    }
