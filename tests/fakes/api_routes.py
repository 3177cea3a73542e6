"""How the fake API server reads a request: paths, selectors, and the form that the client wants."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from urllib.parse import unquote

from fakes.api_faults import Refuse
from fakes.api_objects import Change, Key, Object, RefusedError


def route(path: str) -> tuple[Key, str | None]:
    """Read `/api/v1/[namespaces/N/]PLURAL[/NAME[/PART]]`, or the same below `/apis/GROUP/VERSION`."""
    parts = [unquote(part) for part in path.strip("/").split("/")]
    if parts[:2] == ["api", "v1"]:
        group, rest = "", parts[2:]
    elif parts[:1] == ["apis"] and len(parts) > 3:
        group, rest = parts[1] + "/", parts[3:]
    else:
        raise RefusedError(404, "NotFound", "the server could not find the requested resource")
    namespace = ""
    if len(rest) > 2 and rest[0] == "namespaces":
        namespace, rest = rest[1], rest[2:]
    if not rest or len(rest) > 3:
        raise RefusedError(404, "NotFound", "the server could not find the requested resource")
    name = rest[1] if len(rest) > 1 else ""
    return Key(group + rest[0], namespace, name), rest[2] if len(rest) > 2 else None


def new_name(body: Object) -> str:
    metadata = body.get("metadata", {})
    name = metadata.get("name") or metadata.get("generateName", "") + format(time.monotonic_ns(), "x")
    return str(name)


def concerns(change: Change, key: Key) -> bool:
    return change.key.collection == key.collection and key.namespace in ("", change.key.namespace)


def selector(query: Mapping[str, str]) -> Callable[[Object], bool]:
    fields = dict(term.split("=", 1) for term in query.get("fieldSelector", "").split(",") if term)
    labels = dict(term.split("=", 1) for term in query.get("labelSelector", "").split(",") if term)

    def fits(found: Object) -> bool:
        metadata = found["metadata"]
        own = metadata.get("labels", {})
        named = {"metadata.name": metadata["name"], "metadata.namespace": metadata.get("namespace", "")}
        return all(named.get(name) == value for name, value in fields.items()) and all(
            own.get(name) == value for name, value in labels.items()
        )

    return fits


def shown(accept: str, found: Object) -> Object:
    """Return the object as the client asked to see it: whole, or only its metadata."""
    if "as=PartialObjectMetadata" not in accept:
        return found
    return {"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": found["metadata"]}


def status_object(refusal: Refuse) -> Object:
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": refusal.message or f"told to answer {refusal.status}",
        "reason": refusal.reason,
        "details": {"name": refusal.name} if refusal.name else {},
        "code": refusal.status,
    }
