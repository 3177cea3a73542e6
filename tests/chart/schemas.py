"""Kubernetes' own description of its objects, without a cluster."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema

# Kinds that Kubernetes itself does not describe, and their API version.
FOREIGN = {"PodMonitor": "monitoring.coreos.com/v1", "ServiceMonitor": "monitoring.coreos.com/v1"}


@cache
def complaints(folder: Path, text: str) -> tuple[str, ...]:
    """Give what the oldest and the newest Kubernetes dislike about an object, given as JSON."""
    item = json.loads(text)
    if item["kind"] in FOREIGN:
        return () if item["apiVersion"] == FOREIGN[item["kind"]] else (f"{item['kind']}: unknown {item['apiVersion']}",)
    name = f"{item['kind']}/{item['metadata']['name']}"
    return tuple(
        f"{path.stem}: {name}: {error.json_path}: {error.message}"
        for path in sorted(folder.glob("kubernetes-*.json"))
        for error in _validator(path, item["apiVersion"], item["kind"]).iter_errors(item)
    )


@cache
def _validator(path: Path, api_version: str, kind: str) -> jsonschema.Draft202012Validator:
    definitions = _definitions(path)
    (name,) = (
        name
        for name, one in definitions.items()
        if _only(one, "apiVersion") == api_version and _only(one, "kind") == kind
    )
    return jsonschema.Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": definitions})


@cache
def _definitions(path: Path) -> dict[str, Any]:
    definitions: dict[str, Any] = json.loads(path.read_text())["$defs"]
    return definitions


def _only(definition: dict[str, Any], name: str) -> str | None:
    """Give the one word that a property may be."""
    words = definition.get("properties", {}).get(name, {}).get("enum", [])
    return words[0] if len(words) == 1 else None
