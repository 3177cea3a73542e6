"""The taint that keeps pods off a new node until its GPUs can be given out: what is left of a Node's taints without it.

Whoever makes the node puts the taint on, as an autoscaler does. Here it is only ever taken off. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_NAME = r"[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
_KEY = re.compile(rf"(?:[a-z0-9](?:[-a-z0-9.]{{0,251}}[a-z0-9])?/)?{_NAME}")


def is_taint_key(text: str) -> bool:
    """Whether a text is the key of a taint alone, without a value and an effect."""
    return _KEY.fullmatch(text) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeTaints:
    """The taints of a Node, and the version of it that has them."""

    version: str
    taints: tuple[Any, ...]

    @classmethod
    def of(cls, node: Mapping[str, Any]) -> NodeTaints | None:
        """Read a Node; None where this is none."""
        metadata, spec = node.get("metadata"), node.get("spec") or {}
        version = metadata.get("resourceVersion") if isinstance(metadata, Mapping) else None
        taints = (spec.get("taints") or []) if isinstance(spec, Mapping) else None
        if not isinstance(version, str) or not isinstance(taints, list):
            return None
        return cls(version=version, taints=tuple(taints))

    def has(self, key: str) -> bool:
        """Whether there is a taint of this key, whatever its value and effect."""
        return any(_is(taint, key) for taint in self.taints)

    def without(self, key: str) -> dict[str, Any]:
        """Return the merge patch that takes the taints of this key off the Node, if it is still this version of it.

        Taints are one list that is replaced as a whole, so that a taint which somebody else puts on meanwhile would be
        lost without the version.
        """
        left = [taint for taint in self.taints if not _is(taint, key)]
        return {"metadata": {"resourceVersion": self.version}, "spec": {"taints": left}}


def _is(taint: Any, key: str) -> bool:
    return isinstance(taint, Mapping) and taint.get("key") == key
