from __future__ import annotations

import hashlib
import os
import queue
import resource
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import inotify_simple  # noqa: F401  loaded before the limit on open files falls
import pytest

from fakes.patience import PATIENCE
from gpu_core.files import write_atomically
from gpu_core.passing import passing_name
from gpu_core.runtime.config_in_use import ConfigFileWatch
from gpu_core.runtime.file_watch import DirectoriesWatch


class Noticed:
    """Counts what a watch reports, and waits for it."""

    def __init__(self, path: Path, digest: str) -> None:
        self._reports: queue.SimpleQueue[None] = queue.SimpleQueue()
        self.watch = ConfigFileWatch(path, digest=digest, changed=lambda: self._reports.put(None))
        self._running = ExitStack()
        self._running.enter_context(self.watch.running())

    def wait(self) -> None:
        self._reports.get(timeout=PATIENCE)

    def stop(self) -> int:
        """Stop the watch and return how many reports nobody waited for."""
        self._running.close()
        return self._reports.qsize()


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.fixture
def volume(tmp_path: Path) -> Path:
    """Lay out a ConfigMap as the kubelet does."""
    directory = tmp_path / "available"
    directory.mkdir()
    swap(directory, "1", {"a": "one", "b": "two"})
    for name in ("a", "b"):
        (directory / name).symlink_to(f"..data/{name}")
    return directory


def swap(directory: Path, version: str, files: dict[str, str]) -> None:
    """Change what the volume holds the way the kubelet does."""
    fresh = directory / f"..{version}"
    fresh.mkdir()
    for name, text in files.items():
        (fresh / name).write_text(text)
    (directory / "..data_tmp").symlink_to(fresh.name)
    (directory / "..data_tmp").replace(directory / "..data")


@pytest.fixture
def link(tmp_path: Path, volume: Path) -> Path:
    found = tmp_path / "config.yaml"
    found.symlink_to(volume / "a")
    return found


@pytest.fixture
def noticed(link: Path) -> Iterator[Noticed]:
    watch = Noticed(link, digest("one"))
    yield watch
    assert watch.stop() == 0, "reported more often than it changed"


def point(link: Path, target: Path) -> None:
    fresh = link.with_name("fresh")
    fresh.symlink_to(target)
    fresh.replace(link)


def test_a_file_that_is_written_in_place_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("one")
    noticed = Noticed(path, digest("one"))
    path.write_text("two")
    noticed.wait()
    assert noticed.stop() == 0


def test_swapped_data_is_noticed_each_time(volume: Path, noticed: Noticed) -> None:
    for number in range(2, 5):
        swap(volume, str(number), {"a": str(number)})
        noticed.wait()


def test_a_link_that_points_elsewhere_is_noticed_and_so_are_changes_there(
    volume: Path, link: Path, noticed: Noticed
) -> None:
    point(link, volume / "b")
    noticed.wait()
    swap(volume, "2", {"a": "one", "b": "three"})
    noticed.wait()


def test_equal_content_elsewhere_is_no_change(volume: Path, link: Path, noticed: Noticed) -> None:
    swap(volume, "2", {"a": "one", "b": "two"})
    point(link, volume / "b")
    noticed.wait()


def test_a_file_that_is_missing_for_a_while_is_a_change_only_when_it_comes_back_different(
    volume: Path, noticed: Noticed
) -> None:
    swap(volume, "2", {"b": "two"})
    swap(volume, "3", {"a": "one"})
    swap(volume, "4", {"a": "four"})
    noticed.wait()


def test_a_change_between_reading_and_watching_is_noticed(link: Path) -> None:
    noticed = Noticed(link, digest("something older"))
    noticed.wait()
    assert noticed.stop() == 0


def test_without_inotify_events_the_regular_look_notices(tmp_path: Path) -> None:
    reports: queue.SimpleQueue[None] = queue.SimpleQueue()
    path = tmp_path / "elsewhere" / "config.yaml"
    path.parent.mkdir()
    path.write_text("one")
    watch = DirectoriesWatch(lambda: [tmp_path / "nothing"], lambda: reports.put(None), look_again=lambda: 0.01)
    watch.start()
    reports.get(timeout=PATIENCE)
    watch.stop()


def test_a_stopped_watch_leaves_no_descriptor_behind(link: Path) -> None:
    before = open_descriptors()
    for _ in range(3):
        Noticed(link, digest("one")).stop()
    assert open_descriptors() == before


def open_descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def test_where_the_kernel_gives_no_inotify_the_regular_look_has_to_do(link: Path, volume: Path) -> None:
    """The limit on open files stands in for the one on inotify instances, which only root may change."""
    reports: queue.SimpleQueue[None] = queue.SimpleQueue()
    watch = DirectoriesWatch(lambda: [volume], lambda: reports.put(None), look_again=lambda: 0.01)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (2, hard))
    try:
        watch.start()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    reports.get(timeout=PATIENCE)
    watch.stop()


def test_what_comes_and_goes_under_passing_names_wakes_nobody(tmp_path: Path) -> None:
    awake: queue.SimpleQueue[str] = queue.SimpleQueue()

    def directories() -> tuple[Path, ...]:
        awake.put("awake")
        return (tmp_path,)

    watch = DirectoriesWatch(directories, lambda: awake.put("changed"), settle=0.0)
    watch.start()
    assert awake.get(timeout=PATIENCE) == "awake"
    with passing_name(tmp_path) as passing:
        passing.symlink_to("/nowhere")
    assert awake.get(timeout=PATIENCE) == "awake"
    write_atomically(tmp_path / "config.yaml", b"one")
    while awake.get(timeout=PATIENCE) != "changed":
        pass
    watch.stop()


def test_a_descriptor_with_a_high_number_is_watched_as_any_other(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, hard), hard))
    taken = [os.open("/dev/null", os.O_RDONLY) for _ in range(1100)]
    try:
        path = tmp_path / "config.yaml"
        path.write_text("one")
        noticed = Noticed(path, digest("one"))
        path.write_text("two")
        noticed.wait()
        assert noticed.stop() == 0
    finally:
        for descriptor in taken:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
