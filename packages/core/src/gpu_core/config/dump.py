"""A configuration as the document that a config file holds; loading it gives the same configuration."""

from __future__ import annotations

import json
from typing import Any

import yaml

from gpu_core.config.duration import Duration
from gpu_core.config.model import Config
from gpu_core.config.shape import Leaf, Section, shape


def config_document(config: Config) -> dict[str, Any]:
    """Return every key with its value in JSON's terms; keys without a value and absent sections are left out."""
    return _section(config, shape())


def config_text(config: Config) -> str:
    """Return every key with its value as a config file in YAML, for a person to read."""
    plain = json.loads(json.dumps(config_document(config)))
    return str(yaml.safe_dump(plain, sort_keys=False, allow_unicode=True))


def _section(value: Any, section: Section) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for member in section.members:
        inner = getattr(value, member.attribute)
        if inner is None:
            continue
        if isinstance(member, Leaf):
            result[member.key.name] = _leaf(inner)
        elif member.repeated:
            result[member.key.name] = [_section(entry, member) for entry in inner]
        else:
            result[member.key.name] = _section(inner, member)
    return result


def _leaf(value: Any) -> Any:
    if isinstance(value, Duration):
        return str(value)
    return list(value) if isinstance(value, tuple) else value
