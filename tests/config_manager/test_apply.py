from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from config_manager.apply import config_names, copy_of, look, read_config, save_copy, take_steps
from config_manager.plan import Found, Plan
from fakes.configmap import ConfigMapVolume
from gpu_core.errors import ConfigError


def test_candidates_are_what_is_no_directory_and_not_the_kubelets_own(tmp_path: Path) -> None:
    volume = ConfigMapVolume(tmp_path / "available", {"b": "", "a": "", ".hidden": ""})
    (volume.path / "directory").mkdir()
    assert config_names(volume.path) == (".hidden", "a", "b")


def test_a_config_directory_that_is_not_there_is_said_plainly(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="Check that the ConfigMap is mounted"):
        config_names(tmp_path / "missing")


def test_a_config_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="missing cannot be read: No such file"):
        read_config(tmp_path / "missing")


def test_what_is_at_the_links_place(tmp_path: Path) -> None:
    link = tmp_path / "config.yaml"
    assert look(link) == Found(target=None, content=None)
    link.symlink_to("missing")
    assert look(link) == Found(target="missing", content=None)
    (tmp_path / "missing").write_text("now")
    assert look(link) == Found(target="missing", content=b"now")
    link.unlink()
    link.write_text("a file")
    assert look(link) == Found(target=None, content=b"a file")


def test_the_steps_leave_the_copy_and_the_link(tmp_path: Path) -> None:
    link = tmp_path / "config.yaml"
    take_steps(Plan(save=b"A", target=copy_of(link).name), link)
    assert look(link) == Found(target=copy_of(link).name, content=b"A", copy=b"A")
    assert sorted(path.name for path in tmp_path.iterdir()) == [copy_of(link).name, "config.yaml"]


def test_a_copy_that_cannot_be_written_is_named_and_the_older_one_stays_whole(tmp_path: Path) -> None:
    link = tmp_path / "config.yaml"
    copy_of(link).mkdir()
    with pytest.raises(ConfigError, match=r"cannot be written to .*config.yaml.last-good: Is a directory"):
        save_copy(b"A", link)
    assert list(tmp_path.iterdir()) == [copy_of(link)]


@pytest.mark.parametrize("place", ["config", "config.yaml", ".config.yaml.last-good"])
def test_a_pipe_or_an_endless_device_is_no_config_and_is_not_waited_for(tmp_path: Path, place: str) -> None:
    os.mkfifo(tmp_path / place)
    assert look(tmp_path / "config.yaml") == Found(target=None, content=None)
    (tmp_path / "zero").symlink_to("/dev/zero")
    for name in (place, "zero"):
        with pytest.raises(ConfigError, match="no regular file"):
            read_config(tmp_path / name)


def test_a_file_at_the_links_place_is_replaced(tmp_path: Path) -> None:
    link = tmp_path / "config.yaml"
    link.write_text("a file")
    take_steps(Plan(target="/dev/null"), link)
    assert link.readlink() == Path("/dev/null")


@pytest.mark.parametrize("place", ["missing/config.yaml", "directory"])
def test_a_link_that_cannot_be_made_is_named_and_nothing_is_left_behind(tmp_path: Path, place: str) -> None:
    (tmp_path / "directory").mkdir()
    before = sorted(tmp_path.iterdir())
    with pytest.raises(ConfigError, match="Its directory must exist and be writable"):
        take_steps(Plan(target="/dev/null"), tmp_path / place)
    assert sorted(tmp_path.iterdir()) == before


def test_a_reader_never_finds_the_link_missing(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_text(name)
    link = tmp_path / "config.yaml"
    take_steps(Plan(target="a"), link)
    failures: list[OSError] = []
    seen: set[str] = set()
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            try:
                seen.add(link.read_text())
            except OSError as error:
                failures.append(error)

    reader = threading.Thread(target=read)
    reader.start()
    for number in range(500):
        take_steps(Plan(target="ab"[number % 2]), link)
    done.set()
    reader.join()
    assert failures == []
    assert seen <= {"a", "b"}
