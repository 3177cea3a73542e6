"""Names of hardware as labels write them: told apart where they become alike, and noted where they change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from gpu_core.labels.values import LIMIT, label_value

_MOST_SHOWN = 120
"""Characters of a name in a note."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A name as a label's value, with a note for the log about what became of it where that cannot be read off."""

    value: str
    notes: tuple[str, ...] = ()


def written(kind: str, name: str, *, suffix: str = "", limit: int = LIMIT, marked: bool = False) -> Written:
    """Write a name of some kind (`GPU model`) with `suffix` behind it; see `label_value`.

    That blanks become dashes needs no note.
    """
    value = label_value(name, suffix=suffix, limit=limit, marked=marked)
    bare = value.removesuffix(suffix)
    if bare == "-".join(name.split()):
        return Written(value=value)
    shown = name if len(name) <= _MOST_SHOWN else f"{name[: _MOST_SHOWN - 3]}..."
    note = f"Labels write the {kind} {shown!r} as {bare!r}, since they cannot hold it as it is."
    return Written(value=value, notes=(note,))


def alike(names: Iterable[str]) -> frozenset[str]:
    """Return which of a node's names labels do not tell apart, or cannot write at all, without a checksum."""
    names = frozenset(names)
    found = frozenset(name for name in names if not label_value(name))
    while True:
        values = {name: label_value(name, marked=name in found) for name in names}
        times = Counter(values.values())
        more = {name for name, value in values.items() if times[value] > 1} - found
        if not more:
            return found
        found |= more
