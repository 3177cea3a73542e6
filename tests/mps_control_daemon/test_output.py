"""What daemons log goes to standard output, and nobody waits until it is read."""

from __future__ import annotations

import threading

from mps_control_daemon.output import Output


def test_texts_are_written_whole_and_in_order() -> None:
    written: list[bytes] = []
    output = Output(written.append)
    output.put("one\n")
    output.put("two é\n")
    output.flush(60)
    assert b"".join(written).decode() == "one\ntwo é\n"


def test_what_nobody_reads_is_left_out_and_counted() -> None:
    written: list[bytes] = []
    read = threading.Event()

    def write(data: bytes) -> None:
        read.wait()
        written.append(data)

    output = Output(write)
    for _ in range(10_000):
        output.put("x" * 999 + "\n")
    read.set()
    output.flush(60)
    output.put("after\n")
    output.flush(60)
    lines = b"".join(written).decode().splitlines()
    assert lines == ["x" * 999] * 4194 + ["(5806 lines are left out here, as nobody read them)", "after"]


def test_a_reader_that_has_gone_ends_nothing() -> None:
    written: list[bytes] = []

    def write(data: bytes) -> None:
        if not written:
            written.append(b"")
            raise BrokenPipeError
        written.append(data)

    output = Output(write)
    output.put("lost\n")
    output.put("kept\n")
    output.flush(60)
    assert written == [b"", b"kept\n"]
