"""Files are read without waiting, and replaced as a whole or not at all."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from gpu_core.files import read_beginning, read_given, read_regular, write_atomically


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


def test_a_file_is_on_the_disk_before_it_has_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # After a power cut the name would lead to an empty file otherwise.
    file, synced, sync = tmp_path / "file", list[tuple[bytes, bool]](), os.fsync

    def note(descriptor: int) -> None:
        synced.append((Path(f"/proc/self/fd/{descriptor}").read_bytes(), file.exists()))
        sync(descriptor)

    monkeypatch.setattr("os.fsync", note)
    write_atomically(file, b"new")
    assert (synced, file.read_bytes()) == ([(b"new", False)], b"new")


def test_a_missing_directory_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        write_atomically(tmp_path / "none" / "x", b"x")


def test_a_name_may_be_as_long_as_the_file_system_allows(tmp_path: Path) -> None:
    file = tmp_path / ("ü" * 127)
    write_atomically(file, b"x")
    assert list(tmp_path.iterdir()) == [file]


def test_a_regular_file_is_read_whole_up_to_the_limit_and_refused_above(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"x" * 200_000)
    assert read_regular(file, most=200_000) == b"x" * 200_000
    assert read_beginning(file, most=70_000) == b"x" * 70_000
    with pytest.raises(OSError, match="it holds more than 199999 bytes") as caught:
        read_regular(file, most=199_999)
    assert caught.value.errno == errno.EFBIG


def test_files_without_a_size_links_and_the_null_device_are_read(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/dev/null")
    assert read_regular(tmp_path / "link", most=10) == b""
    (tmp_path / "kernel").symlink_to("/proc/self/stat")
    assert read_regular(tmp_path / "kernel", most=10_000).startswith(f"{os.getpid()} ".encode())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        pytest.param(os.mkfifo, "it is a named pipe", id="a named pipe that nobody writes into"),
        pytest.param(Path.mkdir, "Is a directory", id="a directory"),
        pytest.param(lambda path: path.symlink_to("/dev/zero"), "it is a device", id="a device that never ends"),
        pytest.param(lambda path: path.symlink_to(path), "Too many levels", id="a link to itself"),
        pytest.param(lambda _: None, "No such file", id="nothing"),
    ],
)
def test_what_is_no_regular_file_is_refused_at_once(
    tmp_path: Path, make: Callable[[Path], object], message: str
) -> None:
    file = tmp_path / "file"
    make(file)
    with pytest.raises(OSError, match=message):
        read_regular(file, most=10)


def test_a_socket_is_refused_at_once(socket_dir: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(socket_dir / "file"))
        with pytest.raises(OSError, match="it is a socket"):
            read_regular(socket_dir / "file", most=10)


def test_the_pipe_of_a_shell_is_read_to_its_end_and_not_waited_for_without_end() -> None:
    reader, writer = os.pipe()
    path = Path(f"/dev/fd/{reader}")
    os.write(writer, b"abc")
    with pytest.raises(TimeoutError, match="whoever writes into the pipe takes too long"):
        read_given(path, most=10, patience=0.05)
    os.write(writer, b"def")
    assert read_given(path, most=2) == b"de"
    os.close(writer)
    assert read_given(path, most=10) == b"f"
    os.close(reader)
