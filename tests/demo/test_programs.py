from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from gpu_demo.programs import Command, DemoError, Programs, Service, tail

ENVIRON = {"PATH": os.environ["PATH"]}


def program(directory: Path, text: str) -> Programs:
    """Install a program called `tool` that is this shell script."""
    path = directory / "tool"
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)
    return Programs(directory=directory, environ=ENVIRON)


def tool(*arguments: str) -> Command:
    return Command(program="tool", arguments=arguments)


def test_a_run_returns_what_the_program_printed(tmp_path: Path) -> None:
    assert program(tmp_path, 'echo "got $1"').run(tool("word")) == "got word\n"


def test_a_failed_run_shows_the_command_its_exit_code_and_its_last_words(tmp_path: Path) -> None:
    programs = program(tmp_path, "echo out; echo first >&2; echo last >&2; exit 3")
    with pytest.raises(DemoError) as caught:
        programs.run(tool("--flag"))
    assert str(caught.value) == "`tool --flag` ended with 3:\n    first\n    last"


def test_a_program_that_is_not_installed_is_named(tmp_path: Path) -> None:
    with pytest.raises(DemoError, match=r"^tool is not installed beside .*\. Run `make sync`\.$"):
        Programs(directory=tmp_path, environ=ENVIRON).run(tool())


def test_the_environment_is_the_same_wherever_the_demo_starts() -> None:
    environ = {"PATH": "/bin", "HOME": "/nowhere", "MIG_STRATEGY": "mixed", "NODE_NAME": "n"}
    programs = Programs.beside("/opt/x/bin/python", environ)
    assert programs == Programs(directory=Path("/opt/x/bin"), environ={"PATH": "/bin", "HOME": "/nowhere"})


def test_a_service_is_asked_to_end(tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    os.mkfifo(ready)
    programs = program(tmp_path, f"trap 'echo bye; exit 0' TERM; echo up > {ready}; while :; do sleep 0.01; done")
    with Service(programs, tool(), log=tmp_path / "log") as service:
        assert ready.read_text() == "up\n"
        service.check()
        assert service.stop() == 0
        assert service.log_tail() == "    bye"


def test_a_service_that_ended_by_itself_says_its_last_words(tmp_path: Path) -> None:
    ended = tmp_path / "ended"
    os.mkfifo(ended)
    # It ends by itself, even while it is asked to.
    programs = program(tmp_path, f"trap '' TERM; echo x > {ended}; echo 'no driver' >&2; exit 1")
    with Service(programs, tool(), log=tmp_path / "log") as service:
        assert ended.read_text() == "x\n"
        assert service.stop() == 1
        with pytest.raises(DemoError) as caught:
            service.check()
    assert str(caught.value) == "`tool` ended with 1:\n    no driver"


def test_only_the_last_lines_are_shown() -> None:
    assert tail("\n".join(str(number) for number in range(100))).split() == [str(number) for number in range(88, 100)]
    assert tail("") == "    (it printed nothing)"


def test_the_programs_are_looked_for_beside_the_interpreter() -> None:
    assert Programs.beside(sys.executable, {}).directory == Path(sys.executable).parent
