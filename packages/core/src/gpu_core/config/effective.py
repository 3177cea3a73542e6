"""The effective configuration as a document, shaped like the one that the original logs at its start.

Every key that the program or the file knows is there; one that neither sets is null, durations are Go's text, and empty
sections are `{}`. Keys that only we have appear where they were given, so that a document made from the original's keys
alone is the original's. Entries of `sharing` that share nothing are left out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from gpu_core.config.duration import Duration
from gpu_core.config.layers import Given, KeyPath, Layer, below, key_path
from gpu_core.config.model import DEFAULT_RESOURCE, Config
from gpu_core.config.programs.options import Program
from gpu_core.config.shape import Leaf, Section, shape
from gpu_core.config.sharing import divides

# These are left out, rather than null, when nothing sets them.
_OMITTED = tuple(key_path(f"flags.{name}") for name in ("mpsRoot", "nvidiaDriverRoot", "nvidiaDevRoot"))
_DRIVER_ROOT = key_path("flags.nvidiaDriverRoot")
_DEV_ROOT = key_path("flags.nvidiaDevRoot")
_GFD = key_path("flags.gfd")
_FAIL = "failRequestsGreaterThanOne"
_SHARED = (key_path("sharing.timeSlicing"), key_path("sharing.mps"))


def document(layer: Layer, program: Program[Any], mig_resources: Sequence[tuple[str, str]] = ()) -> dict[str, Any]:
    """Return the effective configuration.

    `mig_resources` are the patterns and names of the MIG resources that the node turned out to have, for programs that
    advertise resources.
    """
    top = shape()
    layer = without_unshared(layer)
    result: dict[str, Any] = {"version": "v1"}
    for member in top.members:
        if isinstance(member, Section):
            section = _section(layer, program, member)
            if section or not member.key.ours:
                result[member.key.name] = section
    # The patterns that stand for the defaults are spelled out by those who advertise.
    if program.advertises:
        resources = result["resources"]
        resources["gpus"] = resources["gpus"] or [{"pattern": "*", "name": DEFAULT_RESOURCE}]
        if mig_resources and not resources.get("mig"):
            resources["mig"] = [{"pattern": pattern, "name": name} for pattern, name in mig_resources]
    return result


def plain(value: Any) -> Any:
    """Return a layer's value as JSON knows values."""
    if isinstance(value, Duration):
        return str(value)
    if isinstance(value, StrEnum):
        return value.value
    if isinstance(value, Mapping):
        return {key: plain(inner) for key, inner in value.items()}
    return [plain(item) for item in value] if isinstance(value, tuple) else value


def without_unshared(layer: Layer) -> Layer:
    """Return the layer without entries of a single replica, and without a section that has no other ones.

    Only to be shown: what is wrong with an entry, which may lack the number, is told with its position among all that
    were written.
    """
    for section in _SHARED:
        layer = _without_unshared(layer, section)
    return layer


def _section(layer: Layer, program: Program[Any], section: Section) -> dict[str, Any]:
    match section.key.name:
        case "flags":
            return _flags(layer, program, section)
        case "resources":
            return _resources(layer, section)
        case "sharing":
            return _sharing(layer, section)
    return {name: value for name, value in _given(layer, section, (section.key.name,)).items() if value}


def _flags(layer: Layer, program: Program[Any], section: Section, path: KeyPath = ("flags",)) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for member in section.members:
        inner = (*path, member.key.name)
        if isinstance(member, Section):
            # Only gpu-feature-discovery tells of its own part.
            if inner != _GFD or program.obeys(_GFD):
                result[member.key.name] = _flags(layer, program, member, inner)
        elif inner in layer and (inner != _DEV_ROOT or layer[inner].value):
            result[member.key.name] = plain(layer[inner].value)
        elif inner == _DEV_ROOT and _DRIVER_ROOT[-1] in result:
            result[member.key.name] = result[_DRIVER_ROOT[-1]]
        elif (option := program.option_for(inner)) is not None and not option.ours:
            result[member.key.name] = plain(member.default)
        elif not member.key.ours and inner not in _OMITTED:
            result[member.key.name] = None
    return result


def _resources(layer: Layer, section: Section) -> dict[str, Any]:
    result = _given(layer, section, ("resources",))
    return {"gpus": result.get("gpus") or None, **({"mig": result["mig"]} if result.get("mig") else {})}


def _sharing(layer: Layer, section: Section) -> dict[str, Any]:
    result: dict[str, Any] = {"timeSlicing": {}}
    for member in section.members:
        path = ("sharing", member.key.name)
        if isinstance(member, Section) and below(layer, path):
            shared = _given(layer, member, path)
            renaming = shared.get("renameByDefault", False)
            shared["resources"] = [_shared(entry, renaming=renaming) for entry in shared.get("resources", [])]
            if path == ("sharing", "mps"):
                shared.setdefault(_FAIL, True)
            result[member.key.name] = {name: value for name, value in shared.items() if value or name == _FAIL}
    return result


def _shared(entry: Mapping[str, Any], *, renaming: bool) -> dict[str, Any]:
    rename = entry.get("rename") or (f"{entry['name']}.shared" if renaming else None)
    known = {"name": entry["name"], **({"rename": rename} if rename else {})}
    return {**known, "devices": entry.get("devices", "all"), "replicas": entry["replicas"], **_ours(entry, known)}


def _ours(entry: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in entry.items() if key not in known and key not in ("devices", "replicas")}


def _given(layer: Layer, section: Section, path: KeyPath) -> dict[str, Any]:
    result = {}
    for member in section.members:
        inner = (*path, member.key.name)
        if inner in layer:
            result[member.key.name] = plain(layer[inner].value)
    return result


def _without_unshared(layer: Layer, section: KeyPath) -> Layer:
    path = (*section, "resources")
    if path not in layer:
        return layer
    given = layer[path]
    kept = tuple(entry for entry in given.value if "replicas" not in entry or divides(entry["replicas"]))
    if kept:
        return {**layer, path: Given(value=kept, origin=given.origin)}
    return {key: value for key, value in layer.items() if key[: len(section)] != section}


def config_document(config: Config) -> dict[str, Any]:
    """Return every key with its value in JSON's terms; keys without a value and absent sections are left out."""
    return _written(config, shape())


def config_text(config: Config) -> str:
    """Return every key with its value as a config file in YAML, for a person to read."""
    import yaml  # noqa: PLC0415  only for those who show it

    values = json.loads(json.dumps(config_document(config)))
    return str(yaml.safe_dump(values, sort_keys=False, allow_unicode=True))


def _written(value: Any, section: Section) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for member in section.members:
        inner = getattr(value, member.attribute)
        if inner is None:
            continue
        if isinstance(member, Leaf):
            result[member.key.name] = plain(inner)
        elif member.repeated:
            result[member.key.name] = [_written(entry, member) for entry in inner]
        else:
            result[member.key.name] = _written(inner, member)
    return result
