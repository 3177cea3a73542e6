"""Other programs are run with bounds, and every failure is one message."""

import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fakes.patience import PATIENCE
from gpu_core.errors import ProcessError
from gpu_core.runtime.process import Completed, run


def wait_until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_input_and_both_outputs() -> None:
    done = run(["sh", "-c", "cat; echo oops >&2; exit 3"], timeout=PATIENCE, text="hello")
    assert done == Completed(returncode=3, stdout="hello", stderr="oops\n")


def test_the_environment_is_exactly_the_one_given() -> None:
    done = run(["/usr/bin/env"], timeout=PATIENCE, env={"ONLY": "this"})
    assert done.stdout == "ONLY=this\n"


def test_output_is_bounded_and_always_text() -> None:
    done = run(["sh", "-c", r"printf '\377'; head -c 200000 /dev/zero"], timeout=PATIENCE)
    assert len(done.stdout) == 64 * 1024
    assert done.stdout[0] == "\N{REPLACEMENT CHARACTER}"


def test_output_without_end_is_cut_while_the_program_goes_on_to_its_own() -> None:
    done = run(["sh", "-c", "head -c 300000000 /dev/zero && echo all >&2"], timeout=PATIENCE)
    assert (done.returncode, len(done.stdout), done.stderr) == (0, 64 * 1024, "all\n")


def test_what_goes_on_in_the_background_writes_without_waiting_and_without_being_killed(tmp_path: Path) -> None:
    code, started = tmp_path / "code", tmp_path / "started"
    os.mkfifo(started)
    done = run(
        ["sh", "-c", f"(read go < {started}; head -c 1000000 /dev/zero; echo $? > {code}) & echo x"], timeout=PATIENCE
    )
    assert done.stdout == "x\n"
    started.write_text("go\n")
    wait_until(lambda: code.exists() and code.read_text() != "")
    # The write failed, as on a full disk; a program that is killed for writing to nobody shows 141.
    assert code.read_text() == "1\n"


def test_a_program_that_hangs_is_killed_with_what_it_has_started(tmp_path: Path) -> None:
    child = tmp_path / "child"
    with pytest.raises(ProcessError, match=r"sh did not end within 2 s and was killed\."):
        run(["sh", "-c", f"sleep 60 & echo $! > {child}; wait"], timeout=2)
    pid = child.read_text().strip()
    wait_until(lambda: not Path(f"/proc/{pid}").exists() or " Z " in Path(f"/proc/{pid}/stat").read_text())


def test_input_may_be_longer_than_a_pipe_holds() -> None:
    assert run(["wc", "-c"], timeout=PATIENCE, text="x" * 300_000).stdout.strip() == "300000"


def test_a_program_that_hangs_is_killed() -> None:
    with pytest.raises(ProcessError, match=r"sleep did not end within 0\.1 s"):
        run(["sleep", "60"], timeout=0.1)


def test_a_program_that_nobody_waits_for_any_more_is_killed() -> None:
    given_up = threading.Event()
    threading.Timer(0.05, given_up.set).start()
    with pytest.raises(ProcessError, match="sleep was killed, as nobody waits for its end any more"):
        run(["sleep", "60"], timeout=PATIENCE, given_up=given_up.is_set)


@pytest.fixture
def unkillable(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Let SIGKILL do nothing, as to what hangs in the kernel; yields the file for the process's own number."""
    with tempfile.TemporaryDirectory() as directory, monkeypatch.context() as patched:
        file = Path(directory) / "pid"
        patched.setattr(os, "killpg", lambda *_: None)
        patched.setattr(subprocess.Popen, "kill", lambda _: None)
        yield file
        os.kill(int(file.read_text()), signal.SIGKILL)


def hanging(file: Path) -> list[str]:
    return ["sh", "-c", f"echo $$ > {file}; exec sleep 1000"]


def test_a_program_that_cannot_be_killed_is_named_and_left(unkillable: Path) -> None:
    with pytest.raises(ProcessError) as raised:
        run(hanging(unkillable), timeout=1)
    pid = unkillable.read_text().strip()
    assert str(raised.value) == f"sh did not end within 1 s and cannot be killed: process {pid} hangs in the kernel."
    assert " S " in Path(f"/proc/{pid}/stat").read_text()


def test_nobody_waits_for_the_end_of_a_program_that_cannot_be_killed(unkillable: Path) -> None:
    with pytest.raises(ProcessError) as raised:
        run(hanging(unkillable), timeout=PATIENCE, given_up=unkillable.exists)
    wait_until(lambda: unkillable.read_text() != "")
    pid = unkillable.read_text().strip()
    assert str(raised.value) == (
        f"sh cannot be killed: process {pid} hangs in the kernel, as nobody waits for its end any more."
    )


def test_a_program_that_ends_in_time_is_not_given_up() -> None:
    assert run(["echo", "done"], timeout=PATIENCE, given_up=lambda: False).stdout == "done\n"


def test_a_program_that_does_not_read_what_it_is_given_ends_as_it_wants() -> None:
    assert run(["sh", "-c", "exec <&-; sleep 0.1; exit 5"], timeout=PATIENCE, text="hello").returncode == 5


def test_a_missing_program_is_named() -> None:
    with pytest.raises(ProcessError, match="no-such-program was not found on PATH"):
        run(["no-such-program"], timeout=PATIENCE)


def test_a_program_without_the_right_to_run_is_named(tmp_path: Path) -> None:
    file = tmp_path / "tool"
    file.write_text("#!/bin/sh\n")
    with pytest.raises(ProcessError, match=r"tool cannot be run: .*/tool is not executable"):
        run([str(file)], timeout=PATIENCE)


def test_a_program_on_path_without_the_right_to_run_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tool").write_text("#!/bin/sh\n")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ProcessError, match=r"tool cannot be run: .*/tool is not executable"):
        run(["tool"], timeout=PATIENCE)


def test_what_a_program_leaves_in_the_background_is_not_waited_for() -> None:
    done = run(["sh", "-c", "echo hello; sleep 60 & echo $!"], timeout=PATIENCE)
    hello, pid = done.stdout.split()
    assert (done.returncode, hello) == (0, "hello")
    os.kill(int(pid), signal.SIGKILL)


def test_a_program_in_a_form_that_the_kernel_does_not_know_is_named(tmp_path: Path) -> None:
    file = tmp_path / "tool"
    file.write_bytes(b"\0")
    file.chmod(0o755)
    with pytest.raises(ProcessError, match="tool cannot be run: Exec format error"):
        run([str(file)], timeout=PATIENCE)
