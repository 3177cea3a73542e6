"""What `status` shows: what needs attention first, then the devices of each resource and who holds them. Pure."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gpu_core.counted import all_of
from gpu_core.web.frame import ago, moment
from gpu_core.web.gpus import recovery_text

_WIDTH = 100
"""Letters of a line of prose."""

_COLUMNS = ("RESOURCE", "GPU", "DEVICE", "PRODUCT", "HEALTH", "FREE", "HELD BY")


def with_holders(document: Mapping[str, Any], holders: Mapping[tuple[str, str], str] | None) -> dict[str, Any]:
    """Return the document with the pods of each device; None says that they are not known."""
    if holders is None:
        return dict(document)
    resources = [
        {
            **resource,
            "devices": [
                {
                    **device,
                    "heldBy": {
                        id_: holders[resource["name"], id_]
                        for id_ in device["ids"]
                        if (resource["name"], id_) in holders
                    },
                }
                for device in resource["devices"]
            ],
        }
        for resource in document["resources"]
    ]
    return {**document, "resources": resources}


def as_text(document: Mapping[str, Any], notes: Sequence[str]) -> str:
    """Return the table, under what needs attention and what is missing, and above the notes."""
    lines = [_headline(document), "", *_attention(document)]
    if "program" in document:
        node = f" on {document['node']}" if document.get("node") else ""
        state = "ready" if document.get("ready") else "not ready"
        lines.append(f"{document['program']} {document['version']}{node}: {state}")
    lines += [f"  {check['name']}: {check['reason']}" for check in document["checks"] if not check["ok"]]
    lines += [""] if lines[-1] else []
    rows = [row for resource in document["resources"] for row in _rows(resource, document.get("time"))]
    lines += _aligned([_COLUMNS, *rows]) if rows else ["No device is served."]
    lines += ["", *notes] if notes else []
    return "\n".join(lines) + "\n"


def _headline(document: Mapping[str, Any]) -> str:
    """Return the first line: how many GPUs need attention, or devices where the GPUs behind them are not known."""
    if "attention" in document:
        return str(document["attention"]["text"]) or "No GPU is known on this node"
    healthy = {
        device["uuid"]: device["healthy"] for resource in document["resources"] for device in resource["devices"]
    }
    unhealthy = [uuid for uuid, good in healthy.items() if not good]
    if not healthy:
        return "No device is served"
    if not unhealthy:
        return f"{all_of(len(healthy), 'device')} healthy"
    need = "needs" if len(unhealthy) == 1 else "need"
    which = "The only device" if len(healthy) == 1 else f"{len(unhealthy)} of {len(healthy)} devices"
    return f"{which} {need} attention: {', '.join(unhealthy)}"


def _attention(document: Mapping[str, Any]) -> Iterator[str]:
    """Give what happened to what needs attention, since when, what helps, and the recovery action."""
    if "attention" not in document:
        return
    for concern in document["attention"]["concerns"]:
        yield f"{concern['name']} {concern['uuid']}".rstrip()
        for cause in concern["causes"]:
            yield from _fact("what happened", cause["reason"])
            if cause["since"] is not None:
                since = f"{moment(cause['since'])}, for {ago(document['time'] - cause['since'])}"
                yield from _fact("since", since)
            yield from _fact("what helps", cause["advice"])
        yield from _fact("recovery action", recovery_text(concern["recoveryAction"]))
        yield ""


def _fact(name: str, text: str) -> Iterator[str]:
    first = f"  {name + ':':17}"
    yield from textwrap.wrap(text, _WIDTH, initial_indent=first, subsequent_indent=" " * len(first))


def _rows(resource: Mapping[str, Any], now: float | None) -> list[tuple[str, ...]]:
    return [
        (
            resource["name"],
            str(device.get("index", "-")),
            device["uuid"],
            device.get("product") or "-",
            _health(device, now),
            _free(device),
            ", ".join(sorted(set(device["heldBy"].values()))) or "-" if "heldBy" in device else "?",
        )
        for device in resource["devices"]
    ]


def _health(device: Mapping[str, Any], now: float | None) -> str:
    if device["healthy"]:
        return "healthy"
    if "reason" not in device:
        return "unhealthy"
    since = "" if now is None else f" ({ago(now - device['since'])})"
    return f"unhealthy: {device['reason']}{since}"


def _free(device: Mapping[str, Any]) -> str:
    """Return how many shares of how many are free."""
    total = len(device["ids"])
    if "heldBy" not in device:
        return f"?/{total}"
    free = total - len(device["heldBy"]) if device["healthy"] else 0
    return f"{free}/{total}"


def _aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(_COLUMNS))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
