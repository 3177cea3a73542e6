"""What the API server sends, taken for what it is: JSON, and an object with the metadata that every object has. Pure.

A proxy, a login page or a damaged server may answer anything. Whoever works with objects can rely on what is checked
here, and looks with care at the rest of them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

_TEXTS = ("name", "namespace", "uid", "resourceVersion")
_MAPPINGS = ("labels", "annotations")


def decoded(content: bytes | str) -> Any:
    """Return what JSON says. Raises ValueError for what is none, or nested deeper than anybody writes."""
    try:
        return json.loads(content)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def is_object(document: Any) -> bool:
    """Whether a document is an object or a list of objects: what its metadata has is of the kind that it has to be.

    Labels and annotations are texts by texts, owners mappings with texts; each of them may be missing, or null.
    """
    if not isinstance(document, Mapping) or not _is_metadata(document.get("metadata")):
        return False
    items = document.get("items")
    return items is None or (isinstance(items, list) and all(map(is_object, items)))


def _is_metadata(metadata: Any) -> bool:
    if not isinstance(metadata, Mapping):
        return False
    owners = metadata.get("ownerReferences") or []
    return (
        all(isinstance(metadata.get(key, ""), str) for key in _TEXTS)
        and all(_is_texts(metadata.get(key) or {}) for key in _MAPPINGS)
        and isinstance(owners, list)
        and all(isinstance(owner, Mapping) and _is_owner(owner) for owner in owners)
    )


def _is_texts(value: Any) -> bool:
    return isinstance(value, Mapping) and all(isinstance(text, str) for text in value.values())


def _is_owner(owner: Mapping[str, Any]) -> bool:
    return all(isinstance(owner.get(key), str) for key in ("apiVersion", "kind", "name", "uid"))
