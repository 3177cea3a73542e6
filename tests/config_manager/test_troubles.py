"""What goes wrong for long: said once, with its end; tried again, later each time; nothing announced before it is so.

Everything happens on real files, at the times of a clock of the test's own.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from config_manager.loop import FilesChanged
from config_manager.watch import Following, Trouble
from fakes.timed_manager import FILES, TimedManager, gaps
from gpu_core.runtime.supervise import Reload

HOUR = 3600.0
APPLIED = "config_manager_configs_applied_total"
AS_ASKED = "config_manager_config_as_asked"
REFUSED = "config_manager_configs_refused_total"


class Obstacle:
    """Something that keeps a step from being taken: a directory where a file has to go."""

    def __init__(self, place: Path) -> None:
        self.place = place
        place.mkdir()
        (place / "something").touch()

    def remove(self) -> None:
        (self.place / "something").unlink()
        self.place.rmdir()


def test_a_link_that_cannot_be_changed_for_hours_announces_nothing_until_it_is(tmp_path: Path) -> None:
    manager = TimedManager(tmp_path, send_signal=False)
    obstacle = Obstacle(manager.link)
    manager.label(0.0, "a")
    # What the attempts do to the directory, and what others do there, wakes the watch.
    manager.every(range(1, 600), FilesChanged())
    manager.run(HOUR)
    assert manager.lines == [
        "the node was read",
        (
            f"WARNING the config stays as it is The link {manager.link} cannot be changed: Is a directory. Its "
            "directory must exist and be writable, and the link must not be a directory."
        ),
    ]
    assert manager.events == ["GpuConfigRefused"]
    assert manager.numbers == {REFUSED: 1.0, AS_ASKED: 0.0}
    assert manager.reporter.standing.config == ""

    manager.at(HOUR, obstacle.remove, FilesChanged())
    manager.run(HOUR + 60)
    assert manager.lines[2:] == ["config in use a"]
    assert manager.events == ["GpuConfigRefused", "GpuConfigApplied"]
    assert manager.numbers == {REFUSED: 1.0, AS_ASKED: 1.0, APPLIED: 1.0, "gpu_suite_config_info a": 1.0}
    assert manager.link.read_text() == FILES["a"]


def test_a_config_that_cannot_be_put_in_place_leaves_the_one_in_use_in_every_number(tmp_path: Path) -> None:
    manager = TimedManager(tmp_path)
    manager.start_program()
    manager.label(0.0, "a")
    manager.run(10.0)
    before = manager.numbers
    manager.link.unlink()
    obstacle = Obstacle(manager.link)
    manager.label(20.0, "b")
    manager.run(HOUR)
    assert manager.numbers == {**before, REFUSED: 1.0, AS_ASKED: 0.0}
    assert manager.reporter.standing.config == "a"
    assert manager.signals == [(0.0, 4001)]

    obstacle.remove()
    manager.run(HOUR + 61)
    assert manager.numbers == {
        APPLIED: 2.0,
        REFUSED: 1.0,
        AS_ASKED: 1.0,
        "config_manager_signals_total": 2.0,
        "gpu_suite_config_info b": 1.0,
    }
    assert [pid for _, pid in manager.signals] == [4001, 4001]


def test_what_fails_is_tried_again_with_growing_pauses(tmp_path: Path) -> None:
    tries: list[float] = []
    manager = TimedManager(tmp_path, default_config="nowhere")
    settle = manager.switch.settle

    def counted(label: str | None, now: float) -> object:
        tries.append(now)
        return settle(label, now)

    manager.switch.settle = counted  # type: ignore[method-assign,assignment]
    manager.label(0.0, None)
    manager.run(300.0)
    assert gaps(tries) == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0, 60.0]


def test_without_room_for_the_copy_the_config_is_in_use_and_the_lack_is_said_once_with_its_end(tmp_path: Path) -> None:
    manager = TimedManager(tmp_path)
    copy = manager.directory / ".config.yaml.last-good"
    obstacle = Obstacle(copy)
    manager.start_program()
    manager.label(0.0, "a")
    manager.every(range(1, 600), FilesChanged())
    manager.run(HOUR)
    lack = (
        f"The copy of the config in use cannot be written to {copy}: Is a directory. Until it can, nothing takes the "
        "place of a file that breaks or vanishes."
    )
    assert manager.lines == [
        "the node was read",
        "config in use a",
        "signalled",
        f"WARNING the config in use cannot be copied {lack}",
    ]
    assert manager.events == ["GpuConfigApplied"]
    assert (manager.numbers[APPLIED], manager.numbers[AS_ASKED]) == (1.0, 1.0)
    assert manager.reporter.standing.copy == lack

    obstacle.remove()
    manager.run(HOUR + 61)
    assert manager.lines[4:] == ["the config in use is copied again"]
    assert copy.read_text() == FILES["a"]
    assert manager.reporter.standing.copy == ""


def test_a_copy_that_somebody_removes_is_made_again(tmp_path: Path) -> None:
    manager = TimedManager(tmp_path)
    manager.start_program()
    manager.label(0.0, "a")
    copy = manager.directory / ".config.yaml.last-good"
    manager.at(10.0, copy.unlink, FilesChanged())
    manager.run(20.0)
    assert copy.read_text() == FILES["a"]


def test_a_file_that_vanishes_while_its_copy_cannot_be_written_is_told_with_both_reasons(tmp_path: Path) -> None:
    manager = TimedManager(tmp_path)
    Obstacle(manager.directory / ".config.yaml.last-good")
    manager.start_program()
    manager.label(0.0, "a")
    manager.at(10.0, lambda: manager.volume.update({"b": FILES["b"]}), FilesChanged())
    manager.run(HOUR)
    (told,) = [line for line in manager.lines if "the config stays as it is" in line]
    assert "There is no config 'a'" in told
    assert "cannot be written to" in told
    # The link is not moved to a copy that is not there.
    assert manager.link.readlink() == manager.volume.path / "a"


def test_a_program_that_has_only_just_begun_is_not_ended_by_the_signal(tmp_path: Path) -> None:
    manager = TimedManager(tmp_path)
    manager.start_program(status="SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\nSigCgt:\t0000000000000000\n")
    prepared = "SigBlk:\t0000000000000000\nSigIgn:\t0000000001001000\nSigCgt:\t0000000000000001\n"
    manager.label(0.0, "a")
    manager.at(0.1, lambda: (manager.proc / "4001" / "status").write_text(prepared))
    manager.run(HOUR)
    assert manager.signals == [(0.5, 4001)]
    assert manager.lines[2:] == ["no process to signal yet; looking again", "signalled"]


def test_a_program_that_takes_signals_as_they_come_gets_its_own_after_a_moment(tmp_path: Path) -> None:
    manager = TimedManager(tmp_path)
    manager.start_program(status="SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\nSigCgt:\t0000000000000000\n")
    manager.label(0.0, "a")
    manager.run(HOUR)
    assert manager.signals == [(0.5, 4001)]


def test_processes_that_cannot_be_listed_are_looked_for_and_then_given_up_with_the_reason(tmp_path: Path) -> None:
    manager = TimedManager(tmp_path)
    manager.proc.rmdir()
    manager.label(0.0, "a")
    manager.run(HOUR)
    assert manager.lines[2:] == [
        "no process to signal yet; looking again",
        (
            "WARNING not signalled The processes cannot be seen in "
            f"{manager.proc}, so none was signalled: No such file or directory."
        ),
    ]
    assert manager.numbers["config_manager_signals_given_up_total"] == 1.0


def test_those_that_refuse_the_signal_are_named_beside_those_that_got_it(tmp_path: Path) -> None:
    manager = TimedManager(tmp_path)
    manager.start_program(4001)
    manager.start_program(4002)
    manager.refusing.add(4001)
    manager.label(0.0, "a")
    manager.run(HOUR)
    assert manager.signals == [(0.0, 4002)]
    assert manager.numbers["config_manager_signals_total"] == 1.0
    assert "WARNING not all were signalled There is no permission to signal" in manager.lines[3]


def test_a_run_that_was_killed_before_it_signalled_is_made_up_for_by_the_next(tmp_path: Path) -> None:
    first = TimedManager(tmp_path)
    first.start_program()
    first.label(0.0, "a")
    first.run(10.0)
    # Killed once the link leads to the other config, before anybody was told.
    first.switch.settle("b", 10.0)
    assert (first.link.read_text(), len(first.signals)) == (FILES["b"], 1)
    second = TimedManager(tmp_path, after=first)
    second.label(0.0, "b")
    second.run(10.0)
    assert second.signals == [(0.0, 4001)]
    third = TimedManager(tmp_path, after=second)
    third.label(0.0, "b")
    third.run(10.0)
    assert third.signals == []


def test_a_watch_that_ends_at_once_each_time_is_one_trouble_with_one_end(tmp_path: Path) -> None:
    manager = TimedManager(tmp_path)
    manager.label(0.0, "a")
    for second in range(10, 1000, 30):
        manager.at(float(second), Following(), Trouble(problem="The API server ended the watch at once.", pause=30.0))
    manager.at(1000.0, Following())
    manager.run(2000.0)
    about_the_node = [line for line in manager.lines if "follow" in line]
    assert about_the_node == [
        "WARNING the node cannot be followed; trying again The API server ended the watch at once.",
        "the node is followed again",
    ]


def test_troubles_that_take_turns_are_each_said_once(tmp_path: Path) -> None:
    manager = TimedManager(tmp_path)
    for second in range(0, 2000, 20):
        manager.at(float(second), Trouble(problem="refused", pause=10.0))
        manager.at(float(second + 10), Trouble(problem="timed out", pause=10.0))
    manager.run(3000.0)
    assert len(manager.lines) == 2
    assert manager.numbers == {"config_manager_node_watch_failures_total": 200.0}
    assert manager.reporter.standing.trouble == "timed out"


def test_the_digest_is_of_what_is_in_place_also_while_another_config_is_refused(tmp_path: Path) -> None:
    manager = TimedManager(tmp_path, files={**FILES, "broken": "flags: [\n"})
    manager.label(0.0, "a")
    manager.label(10.0, "broken")
    manager.run(HOUR)
    (info,) = [sample for sample in manager.counters.snapshot() if sample.metric.name == "gpu_suite_config_info"]
    assert dict(info.labels) == {"name": "a", "digest": hashlib.sha256(FILES["a"].encode()).hexdigest()}


def test_a_reload_looks_at_once_for_what_nobody_has_noticed_but_not_before_the_label_is_known(tmp_path: Path) -> None:
    manager = TimedManager(tmp_path, send_signal=False)
    manager.at(1.0, Reload("SIGHUP"))
    manager.run(5.0)
    before = manager.link.exists()
    manager.label(5.0, "a")
    manager.at(10.0, lambda: manager.volume.update({"a": "version: v1 # new\n"}), Reload("SIGHUP"))
    manager.run(10.5)
    assert (before, manager.link.read_text()) == (False, "version: v1 # new\n")
