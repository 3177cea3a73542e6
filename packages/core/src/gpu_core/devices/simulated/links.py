"""How the GPUs of a simulated node are connected, as matrices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gpu_core.devices.model import LinkLevel
from gpu_core.devices.simulated.values import natural, sequence
from gpu_core.errors import ConfigError

MOST_LINKS = 18
"""How many NVLinks a GPU can have."""

_SHORT = {"PIX": "SINGLE", "PXB": "MULTIPLE", "PHB": "HOSTBRIDGE", "SYS": "SYSTEM"}
"""The words that nvidia-smi prints for NVML's levels."""


def levels(links: Mapping[str, Any], count: int, where: str) -> tuple[tuple[LinkLevel, ...], ...]:
    """Return how close each two GPUs are: `default`, then `groups` in order, then single `pairs`."""
    first = _level(links.get("default", "SYSTEM"), where)
    matrix = [[LinkLevel.INTERNAL if a == b else first for b in range(count)] for a in range(count)]
    for group in sequence(links.get("groups", []), f"{where}.groups"):
        if not isinstance(group, Mapping) or set(group) != {"level", "gpus"}:
            raise ConfigError(f"{where}.groups: an entry is written {{level: NODE, gpus: [0, 1]}}, not {group!r}.")
        members = sequence(group["gpus"], f"{where}.groups: gpus")
        for a in members:
            for b in members:
                _check(a, b, count, where)
                if a != b:
                    matrix[a][b] = _level(group["level"], where)
    for pair, level in _by_pair(links, "pairs", where):
        a, b = _pair(pair, count, where)
        matrix[a][b] = matrix[b][a] = _level(level, where)
    return tuple(map(tuple, matrix))


def bridges(nvlinks: Mapping[str, Any], count: int, where: str) -> tuple[tuple[int, ...], ...]:
    """Return how many NVLinks lead from each GPU to each other: `all` pairs, single `pairs`, or `oneway` ones."""
    if not isinstance(nvlinks, Mapping) or not set(nvlinks) <= {"all", "pairs", "oneway", "switch"}:
        raise ConfigError(f"{where}: known keys are all, pairs, oneway and switch, not {nvlinks!r}.")
    everywhere = natural(nvlinks.get("all", 0), f"{where}.all", most=MOST_LINKS)
    matrix = [[0 if a == b else everywhere for b in range(count)] for a in range(count)]
    for pair, number in _by_pair(nvlinks, "pairs", where):
        a, b = _pair(pair, count, where)
        matrix[a][b] = matrix[b][a] = natural(number, f"{where}.pairs", most=MOST_LINKS)
    for pair, number in _by_pair(nvlinks, "oneway", where):
        a, b = _pair(pair, count, where)
        matrix[a][b] = natural(number, f"{where}.oneway", most=MOST_LINKS)
    return tuple(map(tuple, matrix))


def _by_pair(facts: Mapping[str, Any], key: str, where: str) -> Iterable[tuple[object, object]]:
    pairs = facts.get(key, {})
    if not isinstance(pairs, Mapping):
        raise ConfigError(f"{where}.{key}: pairs are written {{0-1: …}}, not {pairs!r}.")
    return pairs.items()


def _level(word: object, where: str) -> LinkLevel:
    name = _SHORT.get(str(word), str(word))
    if name not in LinkLevel.__members__:
        known = ", ".join([*LinkLevel.__members__, *_SHORT])
        raise ConfigError(f"{where}: {word!r} is no level. Known levels: {known}.")
    return LinkLevel[name]


def _pair(text: object, count: int, where: str) -> tuple[int, int]:
    left, _, right = str(text).partition("-")
    if not left.isdecimal() or not right.isdecimal():
        raise ConfigError(f"{where}: a pair is written 0-1, not {text!r}.")
    _check(int(left), int(right), count, where)
    return int(left), int(right)


def _check(a: object, b: object, count: int, where: str) -> None:
    for gpu in (a, b):
        if not isinstance(gpu, int) or not 0 <= gpu < count:
            raise ConfigError(f"{where}: there is no GPU {gpu}; the node has {count}.")
