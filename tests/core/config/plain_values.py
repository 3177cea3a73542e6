"""A parsed document as plain Python values."""

from __future__ import annotations

from gpu_core.config.file.document import Mapping, Node, Scalar, Sequence


def values(node: Node | None) -> object:
    """Return a document as plain Python values, the last of equal keys winning."""
    match node:
        case Mapping():
            return {member.key: values(member.value) for member in node.members}
        case Sequence():
            return [values(item) for item in node.items]
        case Scalar():
            return node.value
    return None
