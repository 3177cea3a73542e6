"""What this build of a program consists of: the versions of Python and of the distributions that it runs on. Pure."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_SUITE = "gpu-suite-core"


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """A program's version, Python's, and those of the distributions that it asks for, by name and sorted."""

    version: str
    python: str
    distributions: tuple[tuple[str, str], ...]


def version() -> str:
    """Return the version of the suite; all its distributions have the same."""
    from importlib import metadata  # noqa: PLC0415  It brings the e-mail parser along.

    return metadata.version(_SUITE)


def python_version() -> str:
    """Return the version of the Python that runs us."""
    return ".".join(str(part) for part in sys.version_info[:3])


def build(command: str) -> Build:
    """Return what the program with that command consists of; only the suite itself where it is not installed."""
    from importlib import metadata  # noqa: PLC0415

    scripts = metadata.entry_points(group="console_scripts", name=command)
    found: dict[str, str] = {}
    waiting = [script.dist.name for script in scripts if script.dist is not None] or [_SUITE]
    ours = set(waiting) | {_SUITE}
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        try:
            distribution = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            # Asked for under a marker that does not hold here.
            continue
        found[name] = distribution.version
        if name in ours or name.startswith("gpu-suite-"):
            waiting += _required(distribution.requires or ())
    return Build(version=version(), python=python_version(), distributions=tuple(sorted(found.items())))


def _required(requirements: list[str] | tuple[str, ...]) -> list[str]:
    matches = (_NAME.match(text) for text in requirements if "extra ==" not in text)
    return [match[0] for match in matches if match is not None]
