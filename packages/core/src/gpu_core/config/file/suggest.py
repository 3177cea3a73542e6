"""What a mistyped or misplaced key was meant to be."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from functools import cache

from gpu_core.config.layers import KeyPath, dotted
from gpu_core.config.shape import Section, shape

_CLOSE_ENOUGH = 0.75
_LONGEST_NAME = 100


def suggestion(name: str, section: Section, prefix: KeyPath) -> str:
    """Return the end of a message about an unknown key of a section, or nothing when no key is like it."""
    here = {_folded(member.key.name): member.key.name for member in section.members}
    wanted = _folded(name[:_LONGEST_NAME])
    if wanted in here:
        only_case = here[wanted].lower() == name.lower()
        return f"; did you mean {here[wanted]}?{' Upper and lower case matter here' if only_case else ''}"
    elsewhere = _places()
    if wanted in elsewhere:
        return _belongs(elsewhere[wanted])
    close = difflib.get_close_matches(wanted, here, n=1, cutoff=_CLOSE_ENOUGH)
    if close:
        return f"; did you mean {here[close[0]]}?"
    close = difflib.get_close_matches(wanted, elsewhere, n=1, cutoff=_CLOSE_ENOUGH)
    if close:
        return _belongs(elsewhere[close[0]])
    names = ", ".join(member.key.name for member in section.members)
    return f"; {dotted(prefix) or 'the file'} knows {names}"


def _belongs(paths: tuple[KeyPath, ...]) -> str:
    sections = sorted({dotted(path[:-1]) for path in paths if len(path) > 1})
    inside = [f"under {' or '.join(sections)}"] if sections else []
    top = ["at the top of the file"] if any(len(path) == 1 for path in paths) else []
    return f"; did you mean {paths[0][-1]}, which belongs {' or '.join([*inside, *top])}?"


def _folded(name: str) -> str:
    """Return a name without case and separators, so that `mig-strategy` finds `migStrategy`."""
    return name.lower().replace("-", "").replace("_", "")


@cache
def _places() -> dict[str, tuple[KeyPath, ...]]:
    places: dict[str, tuple[KeyPath, ...]] = {}
    for path in _paths(shape(), ()):
        folded = _folded(path[-1])
        places[folded] = (*places.get(folded, ()), path)
    return places


def _paths(section: Section, prefix: KeyPath) -> Iterator[KeyPath]:
    for member in section.members:
        path = (*prefix, member.key.name)
        yield path
        if isinstance(member, Section):
            inner = (*prefix, f"{member.key.name}[]") if member.repeated else path
            yield from _paths(member, inner)
