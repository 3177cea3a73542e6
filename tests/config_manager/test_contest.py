"""A link that somebody else changes: once, or again and again, as by a second config-manager."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from config_manager.loop import FilesChanged
from fakes.timed_manager import FILES, TimedManager, gaps

HOUR = 3600.0
APPLIED = "config_manager_configs_applied_total"
AS_ASKED = "config_manager_config_as_asked"


def lead_elsewhere(link: Path) -> None:
    link.unlink()
    link.symlink_to(link.parent / "other")


@pytest.mark.parametrize("undo", [Path.unlink, lead_elsewhere], ids=["removed", "led elsewhere"])
def test_a_link_that_somebody_changes_once_is_put_back_at_once(tmp_path: Path, undo: Callable[[Path], object]) -> None:
    manager = TimedManager(tmp_path)
    manager.start_program()
    manager.label(0.0, "a")
    manager.at(10.0, lambda: undo(manager.link), FilesChanged())
    manager.run(10.5)
    assert manager.link.read_text() == FILES["a"]
    manager.run(HOUR)
    assert manager.lines[3:] == ["WARNING something else had changed the link; it was put back"]
    assert manager.numbers[APPLIED] == 1.0


def test_two_that_keep_one_link_for_two_labels_do_not_change_it_without_a_pause(tmp_path: Path) -> None:
    manager = TimedManager(tmp_path)
    manager.start_program()
    manager.label(0.0, "a")
    undone: list[float] = []

    def other() -> None:
        # As fast as it can, the other one puts back what it wants.
        if manager.link.readlink() != manager.volume.path / "b":
            undone.append(manager.now)
            manager.link.unlink()
            manager.link.symlink_to(manager.volume.path / "b")

    for tick in range(5, 4000):
        manager.at(tick / 2, other, FilesChanged())
    manager.run(2000.0)
    assert gaps(undone) == [0.5, 1.5, 2.0, 4.0, 10.0, 20.0, 35.0, *[60.0] * 32]
    warnings = [line for line in manager.lines if line.startswith("WARNING")]
    assert len(warnings) == 2
    assert "Something else changes the link" in warnings[1]
    # Programs that were told of the other's config are told again of ours.
    assert len(manager.signals) == len(undone)

    manager.run(2400.0)
    assert manager.link.read_text() == FILES["a"]
    assert manager.lines[-1] == "config in use a"
    assert manager.numbers[AS_ASKED] == 1.0


def test_two_that_keep_one_link_for_one_label_agree(tmp_path: Path) -> None:
    first = TimedManager(tmp_path)
    first.start_program()
    first.label(0.0, "a")
    second = TimedManager(tmp_path, after=first)
    second.label(0.0, "a")
    first.run(10.0)
    second.run(10.0)
    for manager in (first, second):
        manager.label(20.0, "b")
        manager.every(range(21, 300), FilesChanged())
        manager.run(HOUR)
    said = ["the node was read", "config in use a", "signalled", "the node was read", "config in use b", "signalled"]
    assert (first.lines, second.lines) == (said, said)
    assert first.link.read_text() == FILES["b"]


def test_a_directory_that_is_taken_away_and_made_again_has_its_link_back(tmp_path: Path) -> None:
    manager = TimedManager(tmp_path)
    manager.start_program()
    manager.label(0.0, "a")
    manager.at(10.0, lambda: shutil.rmtree(manager.directory), FilesChanged())
    manager.run(60.0)
    assert [line.split(" The ")[0] for line in manager.lines[3:]] == [
        "WARNING the config stays as it is",
        "WARNING the config in use cannot be copied",
    ]
    manager.at(60.0, manager.directory.mkdir, FilesChanged())
    manager.run(120.0)
    assert manager.lines[5:] == [
        "WARNING something else had changed the link; it was put back",
        "config in use a",
        "the config in use is copied again",
    ]
    assert sorted(path.name for path in manager.directory.iterdir()) == [".config.yaml.last-good", "config.yaml"]
    assert manager.numbers[APPLIED] == 1.0
