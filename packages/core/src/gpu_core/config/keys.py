"""How a field of the config model names its key in the file and explains itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, dataclass, field
from enum import StrEnum
from typing import Any


class Constraint(StrEnum):
    """What a value must satisfy beyond its type, in every program, before a config is made."""

    NONE = "none"
    RESOURCE_NAME = "resource name"
    REPLICAS = "replicas"
    NOT_NEGATIVE = "not negative"
    POSITIVE = "positive"
    PERCENTAGE = "percentage"
    NOT_EMPTY = "not empty"
    VERSION = "version"


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A field's name in the config file and its documentation.

    `ours` marks keys that the original does not have. `exact` marks sections whose keys are told apart by case, as the
    original tells them.
    """

    name: str
    doc: str
    ours: bool = False
    constraint: Constraint = Constraint.NONE
    exact: bool = False


def key(
    name: str,
    doc: str,
    *,
    default: Any = MISSING,
    default_factory: Callable[[], Any] | None = None,
    ours: bool = False,
    constraint: Constraint = Constraint.NONE,
    exact: bool = False,
) -> Any:
    """Declare a dataclass field that is read from the config file under `name`."""
    metadata = {"key": Key(name=name, doc=doc, ours=ours, constraint=constraint, exact=exact)}
    if default_factory is not None:
        return field(default_factory=default_factory, metadata=metadata)
    return field(default=default, metadata=metadata)
