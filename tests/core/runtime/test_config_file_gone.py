"""A watch whose file is gone, or which cannot look: nothing waits for it, and whoever has to know is told once."""

from __future__ import annotations

import hashlib
import io
import json
import os
import queue
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gpu_core.runtime.config_in_use import ConfigFileWatch
from gpu_core.runtime.file_watch import DirectoriesWatch
from gpu_core.runtime.logs import configure
from gpu_core.runtime.probes import Check

PATIENCE = 10.0


def watch_of(path: Path) -> tuple[ConfigFileWatch, queue.SimpleQueue[None]]:
    """Return a watch of a file that holds `one`, and its reports."""
    reports: queue.SimpleQueue[None] = queue.SimpleQueue()
    digest = hashlib.sha256(b"one").hexdigest()
    return ConfigFileWatch(path, digest=digest, changed=lambda: reports.put(None), grace=0.05), reports


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    """Give what is logged."""
    stream = io.StringIO()
    configure(json=True, stream=stream)
    yield stream
    configure(json=True)


def told(log: io.StringIO) -> list[tuple[str, str]]:
    lines = [json.loads(line) for line in log.getvalue().splitlines()]
    return [(line["level"], line["event"]) for line in lines]


def wait_until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "it does not come true"
        time.sleep(0.01)


@pytest.mark.parametrize(
    ("put", "reason"),
    [
        pytest.param(lambda _: None, "No such file or directory", id="is deleted"),
        pytest.param(os.mkfifo, "it is a named pipe and no regular file", id="becomes a named pipe"),
        pytest.param(Path.mkdir, "Is a directory", id="becomes a directory"),
    ],
)
def test_a_file_that_cannot_be_read_any_more_is_told_once_and_its_return_once(
    tmp_path: Path, log: io.StringIO, put: Callable[[Path], object], reason: str
) -> None:
    path, former = tmp_path / "config.yaml", tmp_path / "former"
    path.write_text("one")
    watch, reports = watch_of(path)
    fact = f"config file {path} cannot be read: {reason}; what was loaded from it stays in use"
    with watch.running():
        assert watch.checks() == ()
        path.replace(former)
        put(path)
        wait_until(lambda: watch.problem)
        assert watch.checks() == (Check(name="config", ok=True, reason=f"the {fact}"),)
        (tmp_path / "another").touch()
        if path.exists():
            path.rename(tmp_path / "put away")
        former.replace(path)
        wait_until(lambda: not watch.problem)
    assert reports.empty()
    assert told(log) == [
        ("warning", f"The {fact}. Put the file back, or start the program again without it."),
        ("info", "The config file can be read again"),
    ]


def test_a_file_that_comes_back_with_something_else_is_a_change_too(tmp_path: Path, log: io.StringIO) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("one")
    watch, reports = watch_of(path)
    with watch.running():
        path.unlink()
        wait_until(lambda: watch.problem)
        (tmp_path / "fresh").write_text("two")
        (tmp_path / "fresh").replace(path)
        reports.get(timeout=PATIENCE)
    assert (reports.empty(), len(told(log))) == (True, 2)


def test_without_a_config_file_nothing_is_watched_and_nothing_said(log: io.StringIO) -> None:
    watch = ConfigFileWatch(None, digest="", changed=list)
    with watch.running():
        assert (watch.checks(), watch.problem, log.getvalue()) == ((), "", "")


def test_directories_that_cannot_be_told_hold_up_neither_start_nor_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpu_core.runtime.file_watch.LONGEST_START", 0.05)
    monkeypatch.setattr("gpu_core.runtime.file_watch.LONGEST_STOP", 0.05)
    asked, release, answered = threading.Event(), threading.Event(), threading.Event()

    def silent_server() -> list[Path]:
        asked.set()
        # Longer than a test may take, so that whoever waits for it does not pass.
        release.wait(600)
        answered.set()
        return []

    watch = DirectoriesWatch(silent_server, list)
    watch.start()
    assert asked.wait(PATIENCE)
    watch.stop()
    assert not answered.is_set()
    release.set()


def test_a_fault_of_who_listens_or_of_the_watch_is_told_and_the_next_change_is_noticed(
    tmp_path: Path, log: io.StringIO
) -> None:
    reports: queue.SimpleQueue[None] = queue.SimpleQueue()

    def changed() -> None:
        reports.put(None)
        raise ValueError("a mistake")

    def directories() -> list[Path]:
        if (tmp_path / "two").exists():
            raise ValueError("another mistake")
        return [tmp_path]

    watch = DirectoriesWatch(directories, changed, look_again=lambda: 0.01, settle=0.0)
    watch.start()
    for name in ("one", "two"):
        (tmp_path / name).touch()
        reports.get(timeout=PATIENCE)
        reports.get(timeout=PATIENCE)
    watch.stop()
    assert {level for level, _ in told(log)} == {"error", "warning"}
