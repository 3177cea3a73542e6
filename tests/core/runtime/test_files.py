"""Files are replaced as a whole, or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpu_core.runtime.files import write_atomically


def test_a_file_is_made_and_replaced_with_its_mode(tmp_path: Path) -> None:
    file = tmp_path / "labels"
    write_atomically(file, b"old")
    write_atomically(file, b"new", mode=0o600)
    assert (file.read_bytes(), file.stat().st_mode & 0o777) == (b"new", 0o600)
    assert list(tmp_path.iterdir()) == [file]


def test_a_file_that_cannot_be_replaced_leaves_nothing_behind(tmp_path: Path) -> None:
    place = tmp_path / "a directory"
    place.mkdir()
    with pytest.raises(OSError, match="directory"):
        write_atomically(place, b"x")
    assert list(tmp_path.iterdir()) == [place]


def test_a_missing_directory_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        write_atomically(tmp_path / "none" / "x", b"x")


def test_a_name_may_be_as_long_as_the_file_system_allows(tmp_path: Path) -> None:
    file = tmp_path / ("ü" * 127)
    write_atomically(file, b"x")
    assert list(tmp_path.iterdir()) == [file]
