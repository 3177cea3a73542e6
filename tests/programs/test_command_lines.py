"""What people type: every program's subcommands, and every line that help and documentation show."""

from __future__ import annotations

import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fakes.patience import PATIENCE
from fakes.waiting import wait_for
from gpu_core.config.programs.flags import read_flags
from gpu_core.config.programs.options import Program
from gpu_core.config.reference import PROGRAMS

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
NAMES = [program.name for program in PROGRAMS]
COMMANDS = {command: program for program in PROGRAMS for command in program.commands}
PAGES = sorted([ROOT / "README.md", *ROOT.glob("docs/**/*.md")])


def ask(line: str, directory: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    """Type a line into a shell."""
    environ = {"PATH": f"{BIN}:/usr/bin:/bin", "COLUMNS": "200", **environ}
    command = ["/bin/sh", "-c", line]
    return subprocess.run(
        command, cwd=directory, env=environ, capture_output=True, text=True, timeout=PATIENCE, check=False
    )


def own_lines(command: str, directory: Path) -> list[str]:
    """Return the examples in a program's help, and in that of its subcommands."""
    helps = [command, *(f"{command} {name}" for name in COMMANDS[command].subcommands)]
    texts = [ask(f"{words} --help", directory).stdout for words in helps]
    return [line.strip() for text in texts for line in text.partition("Examples:\n")[2].splitlines()[1::2]]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_lists_exactly_the_subcommands_that_are_known_to_others(command: str, tmp_path: Path) -> None:
    listed = ask(f"{command} --help", tmp_path).stdout.partition("Commands:\n")[2].partition("\n\n")[0]
    assert tuple(re.findall(r"^  (\S+)", listed, re.MULTILINE)) == COMMANDS[command].subcommands


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        pytest.param("nvidia-device-plugin statsu", "status", id="two letters swapped"),
        pytest.param("gfd topolgy", "topology", id="a letter missing"),
        pytest.param("gpu-feature-discovery --simulated-node=t4 topologyy", "topology", id="a letter added"),
        pytest.param("mps-control-daemon mount-shn", "mount-shm", id="a wrong letter"),
        pytest.param("config-manager chek-config", "check-config", id="a program with one subcommand"),
    ],
)
def test_a_mistyped_subcommand_is_refused_in_one_line(line: str, meant: str, tmp_path: Path) -> None:
    done = ask(line, tmp_path)
    program, typed = COMMANDS[line.split(maxsplit=1)[0]].name, line.rsplit(maxsplit=1)[-1]
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"{program}: '{typed}' is no command; did you mean {meant}?\n"


@pytest.mark.parametrize(
    ("line", "code"),
    [
        pytest.param("nvidia-device-plugin --simulated-node=t4 --kubelet-socket=/absent/k serve", 1, id="the plugin"),
        pytest.param("gfd --oneshot --simulated-node=t4 serve", 0, id="gpu-feature-discovery"),
        pytest.param("mps-control-daemon --mps-root-ctr=/absent serve", 1, id="the MPS control daemon"),
        pytest.param("config-manager serve", 1, id="config-manager"),
    ],
)
def test_another_word_is_told_first_of_all_and_changes_nothing(line: str, code: int, tmp_path: Path) -> None:
    done = ask(line, tmp_path, LOG_FORMAT="text")
    program = COMMANDS[line.split(maxsplit=1)[0]].name
    assert f"'serve' counts for nothing: it is no flag of {program} and no command" in done.stderr.splitlines()[0]
    assert done.returncode == code


@pytest.mark.parametrize("command", NAMES)
def test_every_example_of_help_is_a_line_that_can_be_typed(command: str, tmp_path: Path) -> None:
    lines = own_lines(command, tmp_path)
    assert lines
    assert {line: mistake(line) for line in lines if mistake(line) is not None} == {}


def shown_lines(page: Path) -> list[str]:
    """Return the lines of a page that start one of the programs."""
    blocks = re.findall(r"^ *```(?:sh|console)\n(.*?)^ *```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    joined = [re.sub(r"\\\n\s*", "", block) for block in blocks]
    lines = [line.strip() for block in joined for line in block.splitlines()]
    shown = [line.removeprefix("$ ").removeprefix(".venv/bin/") for line in lines]
    return [line for line in shown if line.split(" ")[0] in COMMANDS]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_line_of_the_documentation_is_one_too(page: Path) -> None:
    assert {line: mistake(line) for line in shown_lines(page) if mistake(line) is not None} == {}


def test_the_documentation_shows_each_program_at_work() -> None:
    shown = {line.split(" ")[0] for page in PAGES for line in shown_lines(page)}
    assert {COMMANDS[name].name for name in shown} == {program.name for program in COMMANDS.values()}


def mistake(line: str) -> str | None:
    """Return what a program would say of its command line, None where that is in order. Nothing is run."""
    command, *words = shlex.split(line.partition(" <")[0], comments=True)
    program: Program[object] = COMMANDS[command]
    done = read_flags(program.options, words)
    if not done.rest:
        return None
    return None if done.rest[0] in program.subcommands else f"{done.rest[0]} is no subcommand"


@pytest.mark.parametrize("command", NAMES)
def test_every_example_that_needs_no_node_of_its_own_works(command: str, tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("version: v1\n", "utf-8")
    lines = [line for line in own_lines(command, tmp_path) if "simulated" in line or "check-config" in line]
    served = [line for line in lines if "--device-plugin-dir" in line]
    for line in lines:
        done = served_until_it_is_there(line, tmp_path) if line in served else ask(line, tmp_path)
        assert (line, done.returncode, done.stderr.count("Traceback")) == (line, 0, 0)
        assert done.stdout or line in served


def served_until_it_is_there(line: str, directory: Path) -> subprocess.CompletedProcess[str]:
    """Run a plugin until its socket is there, then end it."""
    command = shlex.split(line)
    with (directory / "log").open("wb") as log:
        process = subprocess.Popen([BIN / command[0], *command[1:]], cwd=directory, env={}, stdout=log, stderr=log)
        try:
            wait_for((directory / "nvidia-gpu.sock").exists, "the plugin's socket")
            process.send_signal(signal.SIGTERM)
            code = process.wait(PATIENCE)
        finally:
            process.kill()
            process.wait()
    return subprocess.CompletedProcess(command, code, "", (directory / "log").read_text("utf-8"))


@pytest.mark.parametrize(
    ("redirection", "said"),
    [
        pytest.param(
            ">/dev/full", "The answer cannot be written to standard output: No space left on device.", id="full"
        ),
        pytest.param(
            ">&-", "Standard output is closed, so the answer cannot be written; open it, or redirect it.", id="closed"
        ),
    ],
)
@pytest.mark.parametrize(
    "line",
    [
        "nvidia-device-plugin cdi list --simulated-node=t4",
        "nvidia-device-plugin doctor --simulated-node=t4",
        "nvidia-device-plugin doctor --simulated-node=t4 --format=json",
        "nvidia-device-plugin --version",
        "gfd topology --simulated-node=t4",
        "gfd simulated-nodes",
        "mps-control-daemon mount-shm --help",
        "mps-control-daemon --help",
        "config-manager check-config /dev/null",
        "config-manager --version",
    ],
)
def test_an_answer_that_does_not_arrive_is_told_in_one_line(
    line: str, redirection: str, said: str, tmp_path: Path
) -> None:
    done = ask(f"{line} {redirection}", tmp_path)
    assert (done.returncode, done.stderr) == (1, f"{COMMANDS[line.split(maxsplit=1)[0]].name}: {said}\n")


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("nvidia-device-plugin --log-format=text --simulated-node=t4", id="a directory that is not there"),
        pytest.param("nvidia-device-plugin --log-format=text --mig-strategy=both", id="a wrong flag"),
        pytest.param("gfd --log-format=text --simulated-node=t4", id="a missing node name"),
        pytest.param("gfd --log-format=text --mig-strategy=both", id="a wrong word after the configuration was logged"),
        pytest.param("mps-control-daemon --log-format=text --mps-root-ctr=/absent", id="a directory of MPS"),
        pytest.param("config-manager --log-format=text", id="flags that are needed"),
    ],
)
def test_what_ends_a_program_stands_last_and_no_line_hides_it(line: str, tmp_path: Path) -> None:
    done = ask(line, tmp_path)
    program = COMMANDS[line.split(maxsplit=1)[0]].name
    said = done.stderr[done.stderr.index(f"{program}: ") :]
    assert (done.returncode, done.stdout, "Traceback" in done.stderr) == (1, "", False)
    assert done.stderr.endswith(said)
    assert all(row.startswith("  ") for row in said.splitlines()[1:])
    before = done.stderr.removesuffix(said).splitlines()
    assert [row for row in before if len(row) > 200 or "<" in row] == []
