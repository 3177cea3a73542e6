"""What is told of a device that became unhealthy or healthy, as a Kubernetes Event of the node. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from device_plugin.sickness import unit_name
from gpu_core.resources.ailments import Transition
from gpu_core.resources.health import HealthBook

SICK = "GpuUnhealthy"
WELL = "GpuHealthy"


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
        reason=WELL if transition.healthy else SICK,
        message=f"{name} is {state}: {transition.reason}. {transition.advice}".rstrip(),
    )
