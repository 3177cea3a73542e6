"""What to change on the Node itself, in clusters without node-feature-discovery; values only, nothing is sent here.

The keys that we have set are remembered in an annotation of the Node, so that a label which no longer holds is
removed even by a later pod, and no label of anyone else's ever is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpu_core.labels import PREFIX

Object = dict[str, Any]

ANNOTATION = f"{PREFIX}gfd.labels"


def node_patch(node: Object, labels: Mapping[str, str]) -> Object | None:
    """Return the merge patch that gives a Node exactly these labels of ours, or None when it has them."""
    metadata = node.get("metadata") or {}
    present: Mapping[str, str] = metadata.get("labels") or {}
    remembered: str = (metadata.get("annotations") or {}).get(ANNOTATION, "")
    wanted = {key: value for key, value in labels.items() if key.startswith(PREFIX)}
    gone = sorted(key for key in _keys(remembered) if key in present and key not in wanted)
    changed = {key: value for key, value in sorted(wanted.items()) if present.get(key) != value}
    memory = ",".join(sorted(key.removeprefix(PREFIX) for key in wanted))
    patch: Object = {}
    if changed or gone:
        patch["labels"] = {**changed, **dict.fromkeys(gone)}
    if memory != remembered:
        patch["annotations"] = {ANNOTATION: memory}
    return {"metadata": patch} if patch else None


def leaving_patch(node: Object, inherited: Mapping[str, str]) -> Object | None:
    """Return the merge patch that takes our labels off a Node, or None when we have left nothing there.

    Only what the annotation names is ours. Of that, the labels that are `inherited` stay: node-feature-discovery sets
    them from now on, and a gap would move pods. The patch holds for this version of the Node alone.
    """
    metadata = node.get("metadata") or {}
    annotations: Mapping[str, str] = metadata.get("annotations") or {}
    if ANNOTATION not in annotations:
        return None
    present: Mapping[str, str] = metadata.get("labels") or {}
    gone = sorted(key for key in _keys(annotations[ANNOTATION]) if key in present and key not in inherited)
    patch: Object = {"annotations": {ANNOTATION: None}}
    if gone:
        patch["labels"] = dict.fromkeys(gone)
    if "resourceVersion" in metadata:
        patch["resourceVersion"] = metadata["resourceVersion"]
    return {"metadata": patch}


def _keys(remembered: str) -> set[str]:
    return {f"{PREFIX}{name}" for name in remembered.split(",") if name}
