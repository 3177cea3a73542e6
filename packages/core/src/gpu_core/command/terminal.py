"""What an answer is written for: how wide a screen is, and whether it shows colours."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TextIO


@dataclass(frozen=True, slots=True, kw_only=True)
class Terminal:
    """Where an answer is read. `width` is in columns, None in a pipe or a file, which have none of their own."""

    width: int | None = None
    colours: bool = False


def terminal_of(stream: TextIO | None, environ: Mapping[str, str]) -> Terminal:
    """Return what a stream leads to.

    COLUMNS counts where it is set, as for other programs. There are no colours where NO_COLOR is set to anything, nor
    on a terminal that cannot show them.
    """
    on_screen = _is_terminal(stream)
    return Terminal(
        width=_number(environ.get("COLUMNS", "")) or (_columns(stream) if on_screen else None),
        colours=on_screen and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb",
    )


def _is_terminal(stream: TextIO | None) -> bool:
    try:
        return stream is not None and stream.isatty()
    except ValueError:
        # It was closed.
        return False


def _columns(stream: TextIO | None) -> int | None:
    try:
        return None if stream is None else os.get_terminal_size(stream.fileno()).columns or None
    except (OSError, ValueError):
        return None


def _number(text: str) -> int | None:
    return (int(text) or None) if text.isascii() and text.isdigit() else None
