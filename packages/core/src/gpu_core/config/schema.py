"""The JSON Schema of the config file, made from the model, for editors and for checks without our programs.

It is stricter than loading: only what `check-config` accepts as well is valid. Draft 7, which editors know best.
"""

from __future__ import annotations

from typing import Any

from gpu_core.config.effective import plain
from gpu_core.config.keys import Constraint
from gpu_core.config.names import RESOURCE_PREFIX
from gpu_core.config.shape import Form, Leaf, Section, shape

_AMOUNT = r"([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)"
DURATION = rf"^(infinite|[-+]?(0|({_AMOUNT})+))$"
"""The texts that are durations."""
_PART = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
RESOURCE_NAME = rf"^({RESOURCE_PREFIX.replace('.', '[.]')})?{_PART}([.]{_PART})*$"
"""The texts that name a resource, with or without its prefix."""
_LONGEST_NAME = 63
_BOUNDS: dict[Constraint, dict[str, Any]] = {
    Constraint.REPLICAS: {"minimum": 1},
    Constraint.NOT_NEGATIVE: {"minimum": 0},
    Constraint.POSITIVE: {"exclusiveMinimum": 0},
    Constraint.PERCENTAGE: {"minimum": 0, "maximum": 100},
}


def json_schema() -> dict[str, Any]:
    """Return the schema as a document."""
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Configuration of the GPU programs",
        **_section(shape()),
    }


def _section(section: Section) -> dict[str, Any]:
    required = [
        member.key.name
        for member in section.members
        if (isinstance(member, Leaf) and member.required) or member.key.constraint is Constraint.NOT_EMPTY
    ]
    result: dict[str, Any] = {
        "type": "object",
        "additionalProperties": False,
        "properties": {member.key.name: _member(member) for member in section.members},
    }
    if required:
        result["required"] = required
    return result


def _member(member: Leaf | Section) -> dict[str, Any]:
    described: dict[str, Any] = {"description": member.key.doc}
    if isinstance(member, Leaf):
        value = _leaf(member)
        if not member.required and member.default is not None:
            described["default"] = plain(member.default)
        # Null counts as absent, except where an entry needs a value.
        nullable = (
            not member.required
            and member.form is not Form.DEVICES
            and member.key.constraint is not Constraint.RESOURCE_NAME
        )
    elif member.repeated:
        value = {"type": "array", "items": _section(member)}
        nullable = member.key.constraint is not Constraint.NOT_EMPTY
        if not nullable:
            value["minItems"] = 1
    else:
        value = _section(member)
        nullable = member.key.name != "timeSlicing"
    return {**described, **(_or_null(value) if nullable else value)}


def _or_null(value: dict[str, Any]) -> dict[str, Any]:
    if "anyOf" in value:
        return {"anyOf": [*value["anyOf"], {"type": "null"}]}
    if "enum" in value:
        return {"enum": [*value["enum"], None]}
    return {**value, "type": [value["type"], "null"]}


def _leaf(leaf: Leaf) -> dict[str, Any]:
    match leaf.form:
        case Form.TEXT if leaf.key.constraint is Constraint.RESOURCE_NAME:
            return {"type": "string", "pattern": RESOURCE_NAME, "maxLength": _LONGEST_NAME}
        case Form.TEXT if leaf.key.constraint is Constraint.VERSION:
            return {"enum": ["v1", ""]}
        case Form.TEXT:
            return {"type": "string"}
        case Form.BOOLEAN:
            return {"type": "boolean"}
        case Form.INTEGER:
            return {"type": "integer", **_BOUNDS.get(leaf.key.constraint, {})}
        case Form.NUMBER:
            return {"type": "number", **_BOUNDS.get(leaf.key.constraint, {})}
        case Form.DURATION:
            return {"anyOf": [{"type": "string", "pattern": DURATION}, {"type": "number"}]}
        case Form.WORD:
            return {"enum": _words(leaf)}
        case Form.WORDS:
            word = {"enum": _words(leaf)}
            return {"anyOf": [word, {"type": "array", "items": word}]}
        case Form.TEXTS:
            return {"type": "array", "items": {"type": ["string", "integer"]}}
        case Form.INTEGERS:
            return {"type": "array", "items": {"type": "integer"}}
    devices = {"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "integer", "minimum": 0}]}}
    return {"anyOf": [{"enum": ["all"]}, {"type": "integer", "minimum": 1}, devices]}


def _words(leaf: Leaf) -> list[str]:
    return [word.value for word in leaf.words or ()]
