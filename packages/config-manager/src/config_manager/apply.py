"""The config directory and the link: reads what is there, and takes a plan's steps on disk."""

from __future__ import annotations

import os
from pathlib import Path

from config_manager.plan import Found, Plan
from gpu_core.config.file.document import MAX_BYTES
from gpu_core.errors import ConfigError
from gpu_core.files import read_regular, write_atomically
from gpu_core.passing import passing_name

EMPTY = "/dev/null"
"""What the link points to for the empty config."""


def config_names(directory: Path) -> tuple[str, ...]:
    """Return the names of the config files in `directory`, sorted.

    Directories do not count, nor do names that start with `..`, which Kubernetes uses for its own in the volume of
    a ConfigMap. Raises ConfigError when the directory cannot be read.
    """
    try:
        with os.scandir(directory) as entries:
            # A link counts by itself, as what it points to may be swapped at this moment.
            names = [entry.name for entry in entries if not entry.is_dir(follow_symlinks=False)]
    except OSError as error:
        raise ConfigError(
            f"The config directory {directory} cannot be read: {error.strerror}. Check that the ConfigMap is mounted."
        ) from error
    return tuple(sorted(name for name in names if not name.startswith("..")))


def read_config(path: Path) -> bytes:
    """Return what is in a config file. Raises ConfigError when it cannot be read, or is too large to be one."""
    try:
        return read_regular(path, most=MAX_BYTES)
    except OSError as error:
        raise ConfigError(f"The config file {path} cannot be read: {error.strerror}.") from error


def copy_of(link: Path) -> Path:
    """Return where the copy of the last good config lies: beside the link, so that programs can reach it too."""
    return link.with_name(f".{link.name}.last-good")


def look(link: Path) -> Found:
    """Return what is at the link's place, and in the copy beside it."""
    try:
        target = os.readlink(link)  # noqa: PTH115  as written, not as a normalised path
    except OSError:
        target = None
    return Found(target=target, content=_content(link), copy=_content(copy_of(link)))


def take_steps(steps: Plan, link: Path) -> None:
    """Write the copy and move the link. Raises ConfigError where that is impossible."""
    if steps.save is not None:
        save_copy(steps.save, link)
    if steps.target is not None:
        try:
            _point(link, steps.target)
        except OSError as error:
            raise ConfigError(
                f"The link {link} cannot be changed: {error.strerror}. Its directory must exist and be writable, and "
                "the link must not be a directory."
            ) from error


def save_copy(content: bytes, link: Path) -> None:
    """Write the copy of the last good config. Raises ConfigError where that is impossible."""
    copy = copy_of(link)
    try:
        write_atomically(copy, content)
    except OSError as error:
        raise ConfigError(
            f"The copy of the config in use cannot be written to {copy}: {error.strerror}. Until it can, nothing takes "
            "the place of a file that breaks or vanishes."
        ) from error


def _content(path: Path) -> bytes | None:
    try:
        return read_regular(path, most=MAX_BYTES)
    except OSError:
        return None


def _point(link: Path, target: str) -> None:
    """Make `link` point to `target` in one step, so that readers find the old file or the new one, never none."""
    with passing_name(link.parent) as fresh:
        fresh.symlink_to(target)
        fresh.replace(link)
