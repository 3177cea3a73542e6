"""Where a change can change what a path leads to: the directories along its chain of symbolic links."""

from __future__ import annotations

import os
from pathlib import Path

MOST_LINKS = 40
"""How many links are followed before the path counts as circular, as the kernel does."""


def places(path: Path) -> tuple[Path, ...]:
    """Return the directories that decide what `path` is, in the order in which they are met.

    These are the one that holds the last part, and every one that holds a link on the way. In the volume of a
    ConfigMap, `config.yaml` is a link to `..data/config.yaml` and `..data` a link that is swapped. Where a part is
    missing, the directory in which it would appear is the last one.
    """
    found: list[Path] = []
    here = Path("/")
    ahead = list(reversed(Path(os.path.abspath(path)).parts[1:]))  # noqa: PTH100  keeps links as they are
    links = 0
    while ahead:
        part = ahead.pop()
        if part == "..":
            here = here.parent
            continue
        entry = here / part
        try:
            target = Path(os.readlink(entry))  # noqa: PTH115  as written
        except OSError:
            if not ahead or not os.path.isdir(entry):  # noqa: PTH112  a directory closed to us counts as missing
                found.append(here)
                break
            here = entry
            continue
        found.append(here)
        links += 1
        if links > MOST_LINKS:
            break
        parts = target.parts
        if target.is_absolute():
            here, parts = Path("/"), parts[1:]
        ahead += reversed(parts)
    return tuple(dict.fromkeys(found))
