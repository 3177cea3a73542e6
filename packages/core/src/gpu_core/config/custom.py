"""What `customResources` switches on: own resource names and own choices of devices.

Without it, `resources` and the keys `rename` and `devices` of shared resources are checked and then ignored with a
warning, as the original does, so that a file made for the original advertises the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpu_core.config.decode import Place
from gpu_core.config.layers import Given, Layer, Position, dotted, key_path
from gpu_core.config.problems import Problem, Problems

CUSTOM_RESOURCES = key_path("flags.customResources")
_PATTERNS = (key_path("resources.gpus"), key_path("resources.mig"))
_SHARED = (key_path("sharing.timeSlicing"), key_path("sharing.mps"))
_HINT = "is ignored, as the original ignores it; flags.customResources: true honours it"


def without_custom_resources(layer: Layer, positions: Mapping[Place, Position]) -> tuple[Layer, Problems]:
    """Return the layer that counts, and a warning for each kind of thing that does not."""
    if CUSTOM_RESOURCES in layer and layer[CUSTOM_RESOURCES].value:
        return layer, Problems()
    kept = {path: given for path, given in layer.items() if path not in _PATTERNS}
    problems = []
    ignored = [path for path in _PATTERNS if path in layer and layer[path].value]
    if ignored:
        problems.append(_warning(ignored[0], positions))
    for section in _SHARED:
        path = (*section, "resources")
        if path not in layer:
            continue
        given = layer[path]
        renaming = (*section, "renameByDefault") in layer and layer[(*section, "renameByDefault")].value
        problems += _ignored_keys(path, given.value, positions, renaming=renaming)
        plain = tuple({key: entry[key] for key in entry if key not in ("rename", "devices")} for entry in given.value)
        kept[path] = Given(value=plain, origin=given.origin)
    return kept, Problems(tuple(problems))


def _ignored_keys(
    path: tuple[str, ...],
    entries: tuple[Mapping[str, Any], ...],
    positions: Mapping[Place, Position],
    *,
    renaming: bool,
) -> list[Problem]:
    problems = []
    for key in ("rename", "devices"):
        for index, entry in enumerate(entries):
            usual = "all" if key == "devices" else f"{entry.get('name')}.shared" if renaming else None
            if key in entry and entry[key] != usual:
                problems.append(_warning((*path, index, key), positions))
                break
    return problems


def _warning(place: Place, positions: Mapping[Place, Position]) -> Problem:
    return Problem(message=_HINT, where=dotted(place), position=positions.get(place), fatal=False, harmless=True)
