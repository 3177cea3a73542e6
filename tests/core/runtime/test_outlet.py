"""A stream that nobody waits for: readers that sleep, come back, are gone, or never were."""

from __future__ import annotations

import fcntl
import io
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from fakes.waiting import wait_for
from gpu_core.runtime.outlet import Outlet, lost_lines, nobody_waits_for

_PIPE = 4096


@dataclass
class Pipe:
    """A small pipe, with an outlet into it that keeps a little for its reader."""

    reader: int
    writer: int
    outlet: Outlet

    def read(self, size: int) -> bytes:
        """Read so many bytes."""
        received = b""
        while len(received) < size:
            received += os.read(self.reader, size - len(received))
        return received

    def read_lines(self, until: Callable[[str], bool]) -> list[str]:
        """Read until a line is as wanted."""
        with os.fdopen(os.dup(self.reader), encoding="utf-8") as lines:
            read: list[str] = []
            for line in lines:
                read.append(line.rstrip("\n"))
                if until(read[-1]):
                    break
        return read


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, _PIPE)
    outlet = Outlet(writer, most=1000)
    yield Pipe(reader=reader, writer=writer, outlet=outlet)
    os.close(reader)
    outlet.end()
    os.close(writer)


def line(number: int) -> bytes:
    return f"line {number:094}\n".encode()


def test_lines_come_out_at_once_and_in_order(pipe: Pipe) -> None:
    for number in range(3):
        pipe.outlet.write(line(number))
    assert pipe.read(300) == line(0) + line(1) + line(2)
    assert pipe.outlet.lost == 0


def test_lines_of_many_threads_stay_whole(pipe: Pipe) -> None:
    def speak(thread: int) -> None:
        for number in range(5):
            pipe.outlet.write(line(10 * thread + number))

    pipe.outlet = Outlet(pipe.writer)
    threads = [threading.Thread(target=speak, args=(thread,)) for thread in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lines = pipe.read(8 * 5 * 100).splitlines(keepends=True)
    assert sorted(lines) == [line(10 * thread + number) for thread in range(8) for number in range(5)]
    for speaker in range(8):
        own = [each for each in lines if int(each[5:]) // 10 == speaker]
        assert own == sorted(own)


def test_what_does_not_fit_is_lost_and_told_of_in_its_place(pipe: Pipe) -> None:
    os.write(pipe.writer, b"full\n" + b"x" * (_PIPE - 6) + b"\n")
    for number in range(30):
        pipe.outlet.write(line(number))
    # The first is on its way, and nine more fit into the queue.
    assert pipe.outlet.lost == 20
    read = pipe.read_lines(lambda each: each.startswith("20 lines"))
    assert read[2:] == [
        *(line(number).decode().rstrip() for number in range(10)),
        "20 lines were lost here, as nobody took them.",
    ]
    pipe.outlet.write(line(99))
    assert pipe.read(100) == line(99)


def test_nobody_waits_for_a_reader_that_sleeps(pipe: Pipe) -> None:
    os.write(pipe.writer, b"x" * _PIPE)
    done = threading.Event()

    def speak() -> None:
        for number in range(10_000):
            pipe.outlet.write(line(number))
        done.set()

    threading.Thread(target=speak, daemon=True).start()
    # Waiting a moment for each line would take minutes.
    assert done.wait(60)
    assert pipe.outlet.lost == 9990


def test_the_end_waits_for_a_reader_but_not_for_ever(pipe: Pipe) -> None:
    pipe.outlet.write(line(0))
    assert pipe.outlet.end()
    os.write(pipe.writer, b"x" * (_PIPE - 100))
    pipe.outlet.write(line(1))
    began = time.monotonic()
    assert not pipe.outlet.end(0.2)
    assert time.monotonic() - began >= 0.2


def test_what_comes_after_the_end_is_written_too(pipe: Pipe) -> None:
    pipe.outlet.end()
    pipe.outlet.write(line(0))
    assert pipe.read(100) == line(0)


def test_a_reader_that_has_gone_is_no_error_and_its_lines_are_counted() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    outlet = Outlet(writer)
    outlet.write(b"one\ntwo\n")
    outlet.write(b"three\n")
    assert outlet.end()
    assert outlet.lost == 3
    os.close(writer)


def test_what_could_not_be_written_is_told_of_once_it_can(tmp_path_factory: pytest.TempPathFactory) -> None:
    # A pipe with a name may be opened for reading again.
    path = tmp_path_factory.mktemp("named") / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    writer = os.open(path, os.O_WRONLY)
    outlet = Outlet(writer)
    os.close(reader)
    outlet.write(b"one\n")
    outlet.write(b"two\n")
    wait_for(lambda: outlet.lost == 2, "the lines are not given up")
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    outlet.write(b"three\n")
    assert outlet.end(60)
    assert os.read(reader, 1000) == b"2 lines were lost here, as nobody took them.\nthree\n"
    os.close(reader)
    os.close(writer)


def test_an_end_that_somebody_made_impatient_is_waited_for(pipe: Pipe) -> None:
    os.set_blocking(pipe.writer, False)
    os.write(pipe.writer, b"x" * _PIPE)
    pipe.outlet.write(line(0))
    pipe.read(_PIPE)
    assert pipe.read(100) == line(0)


def test_without_room_for_a_thread_lines_are_still_written(pipe: Pipe, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    pipe.outlet.write(line(0))
    assert pipe.read(100) == line(0)


def test_a_standard_stream_is_queued_while_it_is_asked_for(pipe: Pipe, monkeypatch: pytest.MonkeyPatch) -> None:
    with os.fdopen(os.dup(pipe.writer), "w", encoding="utf-8") as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        with nobody_waits_for("stderr"):
            assert sys.stderr is not stream
            assert not sys.stderr.isatty()
            sys.stderr.write("größe \udc80\n")
            assert lost_lines() == {"stdout": 0, "stderr": 0}
        assert sys.stderr is stream
    assert pipe.read(15).decode() == "größe \\udc80\n"


def test_a_stream_of_somebody_else_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stdout", stream)
    with nobody_waits_for("stdout"):
        assert sys.stdout is stream


def test_a_closed_stream_takes_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    with nobody_waits_for("stderr"):
        sys.stderr.write("nobody reads this\n")
        sys.stderr.close()
