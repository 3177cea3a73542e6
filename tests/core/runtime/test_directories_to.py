from __future__ import annotations

from pathlib import Path

import pytest

from gpu_core.runtime.file_watch import directories_to


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path.resolve()


def test_a_plain_file_is_decided_by_its_directory(root: Path) -> None:
    (root / "config.yaml").write_text("")
    assert directories_to(root / "config.yaml") == (root,)


def test_a_config_behind_the_kubelets_links_is_decided_by_three_directories(root: Path) -> None:
    config, available = root / "config", root / "available"
    config.mkdir()
    (available / "..2026_01").mkdir(parents=True)
    (available / "..2026_01" / "a").write_text("")
    (available / "..data").symlink_to("..2026_01")
    (available / "a").symlink_to("..data/a")
    (config / "config.yaml").symlink_to(available / "a")
    assert directories_to(config / "config.yaml") == (config, available, available / "..2026_01")


def test_a_missing_part_may_appear_in_the_last_directory_there_is(root: Path) -> None:
    (root / "a").mkdir()
    assert directories_to(root / "a" / "b" / "config.yaml") == (root / "a",)
    (root / "link").symlink_to("a/b/config.yaml")
    assert directories_to(root / "link") == (root, root / "a")


def test_links_upwards_are_followed(root: Path) -> None:
    (root / "a").mkdir()
    (root / "file").write_text("")
    (root / "a" / "up").symlink_to("../file")
    assert directories_to(root / "a" / "up") == (root / "a", root)


def test_links_in_a_circle_end(root: Path) -> None:
    (root / "a").symlink_to("b")
    (root / "b").symlink_to("a")
    assert directories_to(root / "a") == (root,)
