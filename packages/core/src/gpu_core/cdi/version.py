"""The lowest version of the CDI specification that a document needs, so that the oldest runtime reads it."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_core.cdi.model import Edits, Spec

_EARLIEST = "0.3.0"


def required_version(spec: Spec) -> str:
    """Return the lowest `cdiVersion` whose features cover this specification."""
    if any(edits.additional_gids for edits in _all_edits(spec)):
        return "0.7.0"
    if any(device.annotations for device in spec.devices) or "." in spec.kind.partition("/")[2]:
        return "0.6.0"
    if any(device.name[:1].isdigit() for device in spec.devices):
        return "0.5.0"
    if any(node.host_path for edits in _all_edits(spec) for node in edits.device_nodes):
        return "0.5.0"
    return _EARLIEST


def _all_edits(spec: Spec) -> Iterator[Edits]:
    yield spec.edits
    for device in spec.devices:
        yield device.edits
