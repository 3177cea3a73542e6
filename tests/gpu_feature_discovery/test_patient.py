"""Labels printed for a reader who stops, comes back, or is gone."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from gpu_core.config.words import LabelFormat
from gpu_core.errors import PublishError
from gpu_feature_discovery.outputs.patient import PatientStream
from gpu_feature_discovery.outputs.text import StreamOutput

SMALLEST = 4096
FIRST, SECOND = {"nvidia.com/gpu.count": "1"}, {"nvidia.com/gpu.count": "2"}
ONE, TWO = b"nvidia.com/gpu.count=1\n", b"nvidia.com/gpu.count=2\n"


@dataclass(frozen=True, kw_only=True)
class Pipe:
    """Both ends of a pipe, and the output that prints into it; how long its reader has is for each test to say."""

    reader: int
    writer: int

    def output(self, *, patience: float) -> StreamOutput:
        return StreamOutput(PatientStream(self.writer, patience=patience), LabelFormat.LABELS)

    def fill(self) -> None:
        os.write(self.writer, b"x" * SMALLEST)

    def read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            data += os.read(self.reader, size - len(data))
        return data


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, SMALLEST)
    yield Pipe(reader=reader, writer=writer)
    os.close(writer)
    os.close(reader)


def test_labels_that_nobody_reads_are_a_failed_publication(pipe: Pipe) -> None:
    pipe.fill()
    output = pipe.output(patience=0.05)
    for _ in range(2):
        with pytest.raises(PublishError) as raised:
            output.publish(FIRST)
        assert str(raised.value) == ("The labels cannot be written to standard output: nobody has read it for 0.05 s.")
    pipe.read(SMALLEST + len(ONE))


def test_a_reader_who_comes_back_finds_whole_labels_once(pipe: Pipe) -> None:
    pipe.fill()
    hasty = PatientStream(pipe.writer, patience=0.05)
    output = StreamOutput(hasty, LabelFormat.LABELS)
    with pytest.raises(PublishError):
        output.publish(FIRST)
    pipe.read(SMALLEST)
    hasty.patience = 60.0
    output.publish(FIRST)
    output.publish(SECOND)
    assert pipe.read(len(ONE + TWO)) == ONE + TWO


def test_newer_labels_follow_those_that_were_late(pipe: Pipe) -> None:
    pipe.fill()
    hasty = PatientStream(pipe.writer, patience=0.05)
    output = StreamOutput(hasty, LabelFormat.LABELS)
    with pytest.raises(PublishError):
        output.publish(FIRST)
    pipe.read(SMALLEST)
    hasty.patience = 60.0
    output.publish(SECOND)
    assert pipe.read(len(ONE + TWO)) == ONE + TWO


def test_a_reader_who_is_gone_is_a_failed_publication() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        with pytest.raises(PublishError, match=os.strerror(errno.EPIPE)):
            StreamOutput(PatientStream(writer, patience=60.0), LabelFormat.LABELS).publish(FIRST)
    finally:
        os.close(writer)
