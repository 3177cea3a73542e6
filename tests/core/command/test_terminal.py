"""How wide a screen is, and whether it shows colours."""

from __future__ import annotations

import fcntl
import io
import os
import pty
import struct
import termios
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import pytest

from gpu_core.command.terminal import Terminal, terminal_of


@contextmanager
def screen(columns: int) -> Iterator[TextIO]:
    """Give a terminal of so many columns."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with os.fdopen(theirs, "w") as stream:
        yield stream
    os.close(ours)


@pytest.mark.parametrize(
    ("columns", "environ", "expected"),
    [
        pytest.param(132, {}, Terminal(width=132, colours=True), id="a terminal"),
        pytest.param(132, {"COLUMNS": "60"}, Terminal(width=60, colours=True), id="COLUMNS counts"),
        pytest.param(132, {"COLUMNS": "many"}, Terminal(width=132, colours=True), id="unless it is nonsense"),
        pytest.param(132, {"COLUMNS": "0"}, Terminal(width=132, colours=True), id="or nothing"),
        pytest.param(0, {}, Terminal(colours=True), id="a terminal that does not know its width"),
        pytest.param(80, {"NO_COLOR": "1"}, Terminal(width=80), id="no colours wanted"),
        pytest.param(80, {"NO_COLOR": ""}, Terminal(width=80, colours=True), id="an empty wish is none"),
        pytest.param(80, {"TERM": "dumb"}, Terminal(width=80), id="no colours possible"),
    ],
)
def test_a_terminal_has_a_width_and_colours(columns: int, environ: Mapping[str, str], expected: Terminal) -> None:
    with screen(columns) as stream:
        assert terminal_of(stream, environ) == expected


def test_a_file_has_neither(tmp_path: Path) -> None:
    with (tmp_path / "file").open("w") as stream:
        assert terminal_of(stream, {}) == Terminal()
        assert terminal_of(stream, {"COLUMNS": "60"}) == Terminal(width=60)


def test_what_cannot_be_written_to_has_neither() -> None:
    closed = io.StringIO()
    closed.close()
    assert terminal_of(closed, {}) == Terminal()
    assert terminal_of(None, {}) == Terminal()
