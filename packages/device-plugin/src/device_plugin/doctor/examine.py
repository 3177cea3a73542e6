"""All examinations, each after those that look at what its own findings may follow from."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from device_plugin.doctor.cdi import cdi
from device_plugin.doctor.configuration import configuration
from device_plugin.doctor.device_nodes import device_nodes
from device_plugin.doctor.driver_library import answer, library, versions
from device_plugin.doctor.finding import Finding
from device_plugin.doctor.kubelet import kubelet, plugin_sockets, pod_resources
from device_plugin.doctor.mig import mig
from device_plugin.doctor.mps import mps
from device_plugin.doctor.pci_bus import pci_bus
from device_plugin.doctor.permissions import permissions, reports
from device_plugin.doctor.platform_facts import platform
from device_plugin.doctor.resources import resources
from device_plugin.doctor.runtime import runtime
from device_plugin.doctor.scene import Scene

Examination = Callable[[Scene], Iterable[Finding]]
"""Looks at one subject, and gives what it found."""

EXAMINATIONS: tuple[Examination, ...] = (
    configuration,
    pci_bus,
    platform,
    library,
    versions,
    answer,
    device_nodes,
    mig,
    resources,
    permissions,
    kubelet,
    plugin_sockets,
    pod_resources,
    runtime,
    cdi,
    mps,
    reports,
)


def examine(scene: Scene) -> tuple[Finding, ...]:
    """Return everything that was found."""
    return tuple(finding for examination in EXAMINATIONS for finding in examination(scene))
