"""Other programs are run with bounds, and every failure is one message."""

import os
import signal
import threading
from pathlib import Path

import pytest

from gpu_core.errors import ProcessError
from gpu_core.runtime.process import Completed, run


def test_input_and_both_outputs() -> None:
    done = run(["sh", "-c", "cat; echo oops >&2; exit 3"], timeout=10, text="hello")
    assert done == Completed(returncode=3, stdout="hello", stderr="oops\n")


def test_the_environment_is_exactly_the_one_given() -> None:
    done = run(["/usr/bin/env"], timeout=10, env={"ONLY": "this"})
    assert done.stdout == "ONLY=this\n"


def test_output_is_bounded_and_always_text() -> None:
    done = run(["sh", "-c", r"printf '\377'; head -c 200000 /dev/zero"], timeout=10)
    assert len(done.stdout) == 64 * 1024
    assert done.stdout[0] == "\N{REPLACEMENT CHARACTER}"


def test_a_program_that_hangs_is_killed() -> None:
    with pytest.raises(ProcessError, match=r"sleep did not end within 0\.1 s"):
        run(["sleep", "60"], timeout=0.1)


def test_a_program_that_nobody_waits_for_any_more_is_killed() -> None:
    given_up = threading.Event()
    threading.Timer(0.05, given_up.set).start()
    with pytest.raises(ProcessError, match="sleep was killed, as nobody waits for its end any more"):
        run(["sleep", "60"], timeout=60, given_up=given_up.is_set)


def test_a_program_that_ends_in_time_is_not_given_up() -> None:
    assert run(["echo", "done"], timeout=60, given_up=lambda: False).stdout == "done\n"


def test_a_program_that_does_not_read_what_it_is_given_ends_as_it_wants() -> None:
    assert run(["sh", "-c", "exec <&-; sleep 0.1; exit 5"], timeout=60, text="hello").returncode == 5


def test_a_missing_program_is_named() -> None:
    with pytest.raises(ProcessError, match="no-such-program was not found on PATH"):
        run(["no-such-program"], timeout=10)


def test_a_program_without_the_right_to_run_is_named(tmp_path: Path) -> None:
    file = tmp_path / "tool"
    file.write_text("#!/bin/sh\n")
    with pytest.raises(ProcessError, match=r"tool cannot be run: .*/tool is not executable"):
        run([str(file)], timeout=10)


def test_a_program_on_path_without_the_right_to_run_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tool").write_text("#!/bin/sh\n")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ProcessError, match=r"tool cannot be run: .*/tool is not executable"):
        run(["tool"], timeout=10)


def test_what_a_program_leaves_in_the_background_is_not_waited_for() -> None:
    done = run(["sh", "-c", "echo hello; sleep 60 & echo $!"], timeout=10)
    hello, pid = done.stdout.split()
    assert (done.returncode, hello) == (0, "hello")
    os.kill(int(pid), signal.SIGKILL)


def test_a_program_in_a_form_that_the_kernel_does_not_know_is_named(tmp_path: Path) -> None:
    file = tmp_path / "tool"
    file.write_bytes(b"\0")
    file.chmod(0o755)
    with pytest.raises(ProcessError, match="tool cannot be run: Exec format error"):
        run([str(file)], timeout=10)
