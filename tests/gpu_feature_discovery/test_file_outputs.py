from __future__ import annotations

import io
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from gpu_core.config.words import LabelFormat
from gpu_core.errors import PublishError
from gpu_feature_discovery.outputs.file import FileOutput
from gpu_feature_discovery.outputs.text import StreamOutput

LABELS = {"nvidia.com/gpu.product": "Tesla-T4", "nvidia.com/gpu.count": "1"}
TEXT = "nvidia.com/gpu.count=1\nnvidia.com/gpu.product=Tesla-T4\n"


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def test_the_file_holds_the_labels_sorted_and_is_readable_for_all(tmp_path: Path) -> None:
    path = tmp_path / "gfd"
    output = FileOutput(str(path), keep=False)
    output.publish(LABELS)
    assert path.read_text() == TEXT
    assert path.stat().st_mode & 0o777 == 0o644
    assert names(tmp_path) == ["gfd"]
    assert output.place == str(path)


def test_a_reader_who_has_the_file_open_keeps_the_old_content(tmp_path: Path) -> None:
    path = tmp_path / "gfd"
    output = FileOutput(str(path), keep=False)
    output.publish(LABELS)
    with path.open() as reader:
        output.publish({})
        assert reader.read() == TEXT
    assert path.read_text() == ""


def test_equal_labels_do_not_touch_the_file(tmp_path: Path) -> None:
    path = tmp_path / "gfd"
    output = FileOutput(str(path), keep=False)
    output.publish(LABELS)
    before = path.stat()
    output.publish(LABELS)
    assert path.stat().st_ino == before.st_ino


def test_a_file_that_someone_removed_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "gfd"
    output = FileOutput(str(path), keep=False)
    output.publish(LABELS)
    path.unlink()
    output.publish(LABELS)
    assert path.read_text() == TEXT


@pytest.mark.parametrize(("keep", "left"), [(False, []), (True, ["gfd"])])
def test_the_end_removes_the_file_unless_it_is_to_be_kept(tmp_path: Path, keep: bool, left: list[str]) -> None:
    output = FileOutput(str(tmp_path / "gfd"), keep=keep)
    output.publish(LABELS)
    output.withdraw()
    assert names(tmp_path) == left


def test_a_file_that_is_gone_already_is_no_trouble_at_the_end(tmp_path: Path) -> None:
    FileOutput(str(tmp_path / "gfd"), keep=False).withdraw()


def test_a_missing_directory_is_named(tmp_path: Path) -> None:
    with pytest.raises(PublishError) as caught:
        FileOutput(str(tmp_path / "absent/gfd"), keep=False).publish(LABELS)
    assert str(caught.value) == (
        f"The labels cannot be written to {tmp_path}/absent/gfd: the directory {tmp_path}/absent does not exist. "
        "Create or mount it, or name another file with --output-file."
    )


@pytest.mark.parametrize(
    "occupy",
    [
        pytest.param(Path.mkdir, id="a directory"),
        pytest.param(os.mkfifo, id="a pipe"),
        pytest.param(lambda path: path.symlink_to("/dev/null"), id="a link to a device"),
    ],
)
def test_what_is_no_file_is_neither_waited_for_nor_replaced_nor_removed(
    tmp_path: Path, occupy: Callable[[Path], None]
) -> None:
    path = tmp_path / "gfd"
    occupy(path)
    before = path.lstat()
    output = FileOutput(str(path), keep=False)
    with pytest.raises(PublishError) as caught:
        output.publish(LABELS)
    output.withdraw()
    assert str(caught.value) == (
        f"The labels cannot be written to {path}, which is no regular file. "
        "Name another file with --output-file; an empty name means standard output."
    )
    assert (path.lstat().st_ino, path.lstat().st_mode) == (before.st_ino, before.st_mode)


def test_a_file_below_a_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(PublishError) as caught:
        FileOutput(str(tmp_path / "file/gfd"), keep=False).publish(LABELS)
    assert str(caught.value) == (
        f"The labels cannot be written to {tmp_path}/file/gfd: Not a directory. "
        "Make that possible, or name another file with --output-file."
    )


def test_a_stream_gets_the_labels_each_time() -> None:
    stream = io.StringIO()
    output = StreamOutput(stream, LabelFormat.LABELS)
    output.publish(LABELS)
    output.publish(LABELS)
    output.withdraw()
    assert stream.getvalue() == TEXT + TEXT


class FullDevice(io.StringIO):
    """A stream that takes nothing."""

    def flush(self) -> None:
        raise OSError(28, "No space left on device")


def test_a_stream_that_takes_nothing_is_an_error() -> None:
    with pytest.raises(PublishError, match="No space left on device"):
        StreamOutput(FullDevice(), LabelFormat.JSON).publish(LABELS)


def test_a_closed_output_is_a_failed_publication() -> None:
    with pytest.raises(PublishError, match="standard output is closed"):
        StreamOutput(None, LabelFormat.LABELS).publish(LABELS)
