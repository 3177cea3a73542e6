"""Finds simulated nodes: those of this package by name, anybody's by file."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import yaml

from gpu_core.devices.simulated.document import read_node
from gpu_core.devices.simulated.node import SimulatedNode
from gpu_core.errors import UsageError
from gpu_core.files import read_given

_NODES = resources.files("gpu_core.devices") / "nodes"
_MODELS = "models.yaml"
_SUFFIX = ".yaml"

_LARGEST = 4 * 1024 * 1024
"""Bytes of a node file that are read."""


def load_node(name: str) -> SimulatedNode:
    """Return a simulated node: one that comes with this package, by its name, or that of a file.

    A text with a slash, or with the suffix of a YAML file, is a file. Raises UsageError where there is none, and
    ConfigError where its contents are wrong.
    """
    if "/" in name or name.endswith((_SUFFIX, ".yml")):
        path = Path(name)
        try:
            text = read_given(path, most=_LARGEST).decode()
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
            raise UsageError(f"The node file {name} cannot be read: {reason}.") from error
        return read_node(_parse(text, name), path.stem, models())
    if name not in node_names():
        known = ", ".join(node_names())
        raise UsageError(
            f"There is no simulated node called {name}. Give one of {known}, or the path of a node file (./node.yaml)."
        )
    return read_node(_parse((_NODES / f"{name}{_SUFFIX}").read_text("utf-8"), name), name, models())


def node_names() -> tuple[str, ...]:
    """Return the names of the nodes that come with this package, sorted."""
    names = (entry.name for entry in _NODES.iterdir())
    return tuple(sorted(name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX) and name != _MODELS))


def describe_nodes() -> tuple[tuple[str, str], ...]:
    """Return the nodes that come with this package, sorted by name, each with one line about it."""
    return tuple((name, load_node(name).description) for name in node_names())


@cache
def models() -> Mapping[str, Mapping[str, Any]]:
    """Return the facts of every model that a node file may name."""
    document = _parse((_NODES / _MODELS).read_text("utf-8"), _MODELS)
    profiles = document["mig_profiles"]
    facts_by_model: dict[str, Mapping[str, Any]] = document["models"]
    return {
        name: {**facts, "mig_profiles": profiles[facts["mig_profiles"]]} if "mig_profiles" in facts else facts
        for name, facts in facts_by_model.items()
    }


def _parse(text: str, name: str) -> Any:
    try:
        return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506  Both are safe.
    except yaml.YAMLError as error:
        raise UsageError(f"The node file {name} is not YAML: {' '.join(str(error).split())}.") from error
