"""What daemons log is passed on whole, once, and in order."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mps_control_daemon.logs import LogTail


class Log:
    def __init__(self, file: Path) -> None:
        self.file = file
        self.seen: list[str] = []
        self.tail = LogTail(file, self.seen.append)

    def add(self, text: bytes) -> None:
        with self.file.open("ab") as stream:
            stream.write(text)

    def taken(self, *, to_the_end: bool = False) -> str:
        self.tail.forward(to_the_end=to_the_end)
        text = "".join(self.seen)
        self.seen.clear()
        return text


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return Log(tmp_path / "control.log")


def test_lines_are_passed_on_as_they_come_from_the_first_one(log: Log) -> None:
    assert log.taken() == ""
    log.add(b"one\ntwo\n")
    assert log.taken() == "one\ntwo\n"
    assert log.taken() == ""
    log.add(b"three\n")
    assert log.taken() == "three\n"


def test_a_line_waits_for_its_end(log: Log) -> None:
    log.add(b"one\ntw")
    assert log.taken() == "one\n"
    log.add(b"o")
    assert log.taken() == ""
    log.add(b"\nthree")
    assert log.taken() == "two\n"
    assert log.taken(to_the_end=True) == "three\n"
    assert log.taken(to_the_end=True) == ""


def test_a_character_may_come_in_parts_and_what_is_none_is_replaced(log: Log) -> None:
    log.add("é".encode()[:1])
    assert log.taken() == ""
    log.add("é".encode()[1:] + b" \xff\n")
    assert log.taken() == "é \N{REPLACEMENT CHARACTER}\n"


def test_a_file_that_is_replaced_or_cut_off_is_read_from_its_beginning(log: Log) -> None:
    log.add(b"a long line\n")
    assert log.taken() == "a long line\n"
    log.file.write_bytes(b"cut\n")
    assert log.taken() == "cut\n"
    fresh = log.file.with_name("fresh")
    fresh.write_bytes(b"fresh and longer\n")
    fresh.rename(log.file)
    assert log.taken() == "fresh and longer\n"
    log.file.unlink()
    assert log.taken() == ""


def test_what_was_left_of_a_former_file_is_a_line_of_its_own(log: Log) -> None:
    log.add(b"one\nha")
    assert log.taken() == "one\n"
    fresh = log.file.with_name("fresh")
    fresh.write_bytes(b"two\n")
    fresh.rename(log.file)
    assert log.taken() == "ha\ntwo\n"
    log.add("half é".encode()[:-1])
    log.taken()
    log.file.write_bytes(b"cut\n")
    assert log.taken() == "half \N{REPLACEMENT CHARACTER}\ncut\n"


def test_a_line_without_end_is_passed_on_in_parts(log: Log) -> None:
    log.add(b"x" * 300_000)
    parts = log.taken().splitlines()
    assert [len(part) for part in parts] == [65_536] * 4
    log.add(b"x" * 100 + b"\nafter\n")
    assert log.taken() == "x" * (300_100 - 4 * 65_536) + "\nafter\n"


def test_the_end_takes_what_is_left_however_much_that_is(log: Log) -> None:
    log.add(b"line\n" * 1_000_000)
    assert log.taken(to_the_end=True) == "line\n" * 1_000_000


def test_a_pipe_in_the_place_of_the_file_is_not_waited_for(log: Log) -> None:
    os.mkfifo(log.file)
    assert log.taken(to_the_end=True) == ""
