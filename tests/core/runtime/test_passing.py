"""Passing names: what is made under them arrives whole, and what a killed process leaves there is removed, no more."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fakes.namespaces import unshared
from gpu_core.files import write_atomically
from gpu_core.passing import is_passing, passing_name, remove_leftovers

PASSING, LOCK = ".gpu-0123abcd", ".k8s-gpu-suite-0123abcd.lock"

HOLDER = """
import sys
from pathlib import Path
from gpu_core.passing import passing_name
with passing_name(Path(sys.argv[1])) as passing:
    passing.write_text("half")
    print(passing, flush=True)
    sys.stdin.read()
"""

WRITER_THAT_DIES = """
import os, signal, sys
from pathlib import Path
from gpu_core import files
die = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
os.fsync, os.fchmod = {"before it is whole": (os.fsync, die), "before it is renamed": (die, os.fchmod)}[sys.argv[2]]
files.write_atomically(Path(sys.argv[1]), b"new" * 10000)
"""


@contextmanager
def holder(directory: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """Run a process that is in the middle of making something."""
    command = [sys.executable, "-c", HOLDER, str(directory)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process, Path(process.stdout.readline().strip())
        finally:
            process.kill()


def names(directory: Path) -> list[str]:
    return sorted(entry.name for entry in directory.iterdir())


def a_socket(path: Path) -> None:
    directory = os.open(path.parent, os.O_RDONLY)
    with socket.socket(socket.AF_UNIX) as server:
        # The path itself may be too long for a socket.
        server.bind(f"/proc/self/fd/{directory}/{path.name}")
    os.close(directory)


MAKERS = [
    pytest.param(lambda path: path.write_text("half"), id="a file"),
    pytest.param(lambda path: path.symlink_to("/nowhere"), id="a link"),
    pytest.param(a_socket, id="a socket"),
]


@pytest.mark.parametrize("make", MAKERS)
def test_what_is_made_arrives_under_its_own_name_and_nothing_else_stays(
    tmp_path: Path, make: Callable[[Path], object]
) -> None:
    with passing_name(tmp_path) as passing:
        make(passing)
        assert [is_passing(name) for name in names(tmp_path)] == [True, True]
        passing.rename(tmp_path / "it")
    assert names(tmp_path) == ["it"]


@pytest.mark.parametrize("make", MAKERS)
def test_what_cannot_be_finished_is_taken_away(tmp_path: Path, make: Callable[[Path], object]) -> None:
    def fail() -> None:
        with passing_name(tmp_path) as passing:
            make(passing)
            raise RuntimeError("a fault")

    with pytest.raises(RuntimeError, match="a fault"):
        fail()
    assert names(tmp_path) == []


@pytest.mark.parametrize("make", MAKERS)
def test_what_an_ended_process_left_is_removed(tmp_path: Path, make: Callable[[Path], object]) -> None:
    (tmp_path / LOCK).touch()
    make(tmp_path / PASSING)
    (tmp_path / "labels").write_text("ours, and finished")
    assert remove_leftovers(tmp_path) == (tmp_path / PASSING,)
    assert names(tmp_path) == ["labels"]


def test_a_lock_that_outlived_what_it_was_for_is_removed_too(tmp_path: Path) -> None:
    (tmp_path / LOCK).touch()
    assert remove_leftovers(tmp_path) == ()
    assert names(tmp_path) == []


def test_what_a_living_process_makes_stays_also_while_it_is_stopped_and_goes_once_it_was_killed(tmp_path: Path) -> None:
    with holder(tmp_path) as (process, passing):
        held = names(tmp_path)
        assert passing.name in held
        assert remove_leftovers(tmp_path) == ()
        process.send_signal(signal.SIGSTOP)
        assert remove_leftovers(tmp_path) == ()
        assert names(tmp_path) == held
        process.kill()
        process.wait()
        assert names(tmp_path) == held
        assert remove_leftovers(tmp_path) == (passing,)
        assert names(tmp_path) == []


def test_what_a_process_in_another_container_makes_stays(tmp_path: Path) -> None:
    # Inside, this process has the id 1, or one that belongs to somebody else here.
    command = [*unshared("pid"), sys.executable, "-c", HOLDER, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        passing = Path(process.stdout.readline().strip())
        assert remove_leftovers(tmp_path) == ()
        assert passing.read_text() == "half"
        process.communicate("")
    assert names(tmp_path) == []


@pytest.mark.parametrize(
    "foreign",
    [
        pytest.param([PASSING], id="our passing name without a lock"),
        pytest.param([".deadbeef"], id="a name of eight digits"),
        pytest.param([".gfd.x1y2z3_w", ".config.yaml.last-good"], id="hidden files"),
        pytest.param([".k8s-gpu-suite-0123abcd.lock.bak", ".k8s-gpu-suite-0123ABCD.lock"], id="almost our lock"),
        pytest.param(["k8s-gpu-suite-0123abcd.lock", "gpu-0123abcd"], id="our names in plain sight"),
        pytest.param(["nvidia-gpu.sock", "kubelet.sock", "nvidia.com-gpu.json"], id="what is finished"),
    ],
)
def test_what_is_not_ours_stays(tmp_path: Path, foreign: list[str]) -> None:
    for name in foreign:
        (tmp_path / name).touch()
    assert remove_leftovers(tmp_path) == ()
    assert names(tmp_path) == sorted(foreign)


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(os.mkfifo, id="a pipe"),
        pytest.param(os.mkdir, id="a directory"),
        pytest.param(lambda path: path.symlink_to("labels"), id="a link to a file"),
    ],
)
def test_something_else_under_the_name_of_a_lock_is_neither_waited_for_nor_touched(
    tmp_path: Path, make: Callable[[Path], object]
) -> None:
    (tmp_path / "labels").touch()
    (tmp_path / PASSING).touch()
    make(tmp_path / LOCK)
    assert remove_leftovers(tmp_path) == ()
    assert names(tmp_path) == sorted(["labels", PASSING, LOCK])


def test_a_directory_under_a_passing_name_is_not_ours(tmp_path: Path) -> None:
    (tmp_path / LOCK).touch()
    (tmp_path / PASSING).mkdir()
    assert remove_leftovers(tmp_path) == ()
    assert names(tmp_path) == sorted([LOCK, PASSING])


def test_one_leftover_that_cannot_be_removed_keeps_no_other(tmp_path: Path) -> None:
    (tmp_path / LOCK).touch()
    (tmp_path / PASSING).mkdir()
    (tmp_path / LOCK.replace("0123", "4567")).touch()
    (tmp_path / PASSING.replace("0123", "4567")).touch()
    assert remove_leftovers(tmp_path) == (tmp_path / PASSING.replace("0123", "4567"),)
    assert names(tmp_path) == sorted([LOCK, PASSING])


def test_a_directory_that_is_not_there_has_no_leftovers(tmp_path: Path) -> None:
    assert remove_leftovers(tmp_path / "none") == ()
    (tmp_path / "file").touch()
    assert remove_leftovers(tmp_path / "file") == ()


def test_starts_beside_us_never_take_what_we_are_making(tmp_path: Path) -> None:
    stop = threading.Event()

    def sweep() -> None:
        while not stop.is_set():
            remove_leftovers(tmp_path)

    sweepers = [threading.Thread(target=sweep) for _ in range(3)]
    for sweeper in sweepers:
        sweeper.start()
    try:
        for number in range(100):
            write_atomically(tmp_path / "labels", f"{number}".encode())
            assert (tmp_path / "labels").read_text() == f"{number}"
    finally:
        stop.set()
        for sweeper in sweepers:
            sweeper.join()
    assert names(tmp_path) == ["labels"]


@pytest.mark.parametrize("moment", ["before it is whole", "before it is renamed"])
def test_a_writer_that_is_killed_leaves_the_old_file_whole(tmp_path: Path, moment: str) -> None:
    file = tmp_path / "labels"
    write_atomically(file, b"old")
    done = subprocess.run([sys.executable, "-c", WRITER_THAT_DIES, str(file), moment], check=False)
    assert done.returncode == -signal.SIGKILL
    assert file.read_bytes() == b"old"
    left = [name for name in names(tmp_path) if is_passing(name)]
    assert len(left) == 2
    assert remove_leftovers(tmp_path) == tuple(tmp_path / name for name in left if not name.endswith(".lock"))
    assert names(tmp_path) == ["labels"]


def test_passing_names_are_seen_by_none_of_the_readers_of_our_directories(tmp_path: Path) -> None:
    with passing_name(tmp_path) as passing:
        passing.touch()
        seen_by_nfd = [name for name in names(tmp_path) if not name.startswith(".")]
        seen_by_runtimes = [name for name in names(tmp_path) if name.endswith((".json", ".yaml"))]
        assert (seen_by_nfd, seen_by_runtimes) == ([], [])
        # The shortest name of a resource's socket, for whose path there is little room.
        assert len(passing.name) <= len("nvidia-x.sock")
