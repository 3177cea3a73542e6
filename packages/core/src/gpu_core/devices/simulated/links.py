"""How the GPUs of a simulated node are connected, as matrices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpu_core.devices.model import LinkLevel
from gpu_core.errors import ConfigError

_SHORT = {"PIX": "SINGLE", "PXB": "MULTIPLE", "PHB": "HOSTBRIDGE", "SYS": "SYSTEM"}
"""The words that nvidia-smi prints for NVML's levels."""


def levels(links: Mapping[str, Any], count: int, where: str) -> tuple[tuple[LinkLevel, ...], ...]:
    """Return how close each two GPUs are: `default`, then `groups` in order, then single `pairs`."""
    first = _level(links.get("default", "SYSTEM"), where)
    matrix = [[LinkLevel.INTERNAL if a == b else first for b in range(count)] for a in range(count)]
    for group in links.get("groups", []):
        if not isinstance(group, Mapping) or set(group) != {"level", "gpus"}:
            raise ConfigError(f"{where}.groups: an entry is written {{level: NODE, gpus: [0, 1]}}, not {group!r}.")
        for a in group["gpus"]:
            for b in group["gpus"]:
                _check(a, b, count, where)
                if a != b:
                    matrix[a][b] = _level(group["level"], where)
    for pair, level in dict(links.get("pairs", {})).items():
        a, b = _pair(pair, count, where)
        matrix[a][b] = matrix[b][a] = _level(level, where)
    return tuple(map(tuple, matrix))


def bridges(nvlinks: Mapping[str, Any], count: int, where: str) -> tuple[tuple[int, ...], ...]:
    """Return how many NVLinks lead from each GPU to each other: `all` pairs, single `pairs`, or `oneway` ones."""
    if not isinstance(nvlinks, Mapping) or not set(nvlinks) <= {"all", "pairs", "oneway", "switch"}:
        raise ConfigError(f"{where}: known keys are all, pairs, oneway and switch, not {nvlinks!r}.")
    everywhere = nvlinks.get("all", 0)
    matrix = [[0 if a == b else everywhere for b in range(count)] for a in range(count)]
    for pair, number in dict(nvlinks.get("pairs", {})).items():
        a, b = _pair(pair, count, where)
        matrix[a][b] = matrix[b][a] = number
    for pair, number in dict(nvlinks.get("oneway", {})).items():
        a, b = _pair(pair, count, where)
        matrix[a][b] = number
    return tuple(map(tuple, matrix))


def _level(word: object, where: str) -> LinkLevel:
    name = _SHORT.get(str(word), str(word))
    if name not in LinkLevel.__members__:
        known = ", ".join([*LinkLevel.__members__, *_SHORT])
        raise ConfigError(f"{where}: {word!r} is no level. Known levels: {known}.")
    return LinkLevel[name]


def _pair(text: object, count: int, where: str) -> tuple[int, int]:
    left, _, right = str(text).partition("-")
    if not left.isdigit() or not right.isdigit():
        raise ConfigError(f"{where}: a pair is written 0-1, not {text!r}.")
    _check(int(left), int(right), count, where)
    return int(left), int(right)


def _check(a: object, b: object, count: int, where: str) -> None:
    for gpu in (a, b):
        if not isinstance(gpu, int) or not 0 <= gpu < count:
            raise ConfigError(f"{where}: there is no GPU {gpu}; the node has {count}.")
