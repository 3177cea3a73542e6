"""Help and shell completion, written by typer from the option tables."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from gpu_core.command import Subcommand, run_program
from gpu_core.config.programs.device_plugin import DEVICE_PLUGIN
from gpu_core.config.programs.options import Group, setting
from gpu_core.config.reference import PROGRAMS


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeSettings:
    depth: int = setting("depth", ["PROBE_DEPTH"], "How deep.", default=1, group=Group.DEVICES)


def run(*argv: str) -> int:
    """Run a program with the subcommand `probe`, neither of which may really start."""
    probe = Subcommand(
        name="probe", doc="Look at a device.", run=lambda _: 2, arguments=("DEVICE",), settings=ProbeSettings
    )
    return run_program(DEVICE_PLUGIN, argv, {}, lambda _: 3, subcommands=[probe])


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_help_names_every_option_with_its_variables(program: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_program(program, ["--help"], {"COLUMNS": "100"}, lambda _: 1) == 0

    text = capsys.readouterr().out
    words = set(text.replace(",", " ").replace("]", " ").replace(";", " ").split())
    for option in program.options:
        assert {f"--{name}" if len(name) > 1 else f"-{name}" for name in option.names} <= words
        assert set(option.variables) <= words | {word.rstrip(":") for word in words}
        assert str(option.group) + ":" in text or not option.name
    assert program.examples
    for _, line in program.examples:
        assert f"    {line}\n" in text
    assert "check-config" in text


def test_a_program_offers_only_the_discovery_that_it_can_follow(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--help") == 0
    assert "--device-discovery-strategy <auto|nvml|tegra>\n" in capsys.readouterr().out


def test_subcommands_are_described_in_full(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--help") == 0
    commands = capsys.readouterr().out.partition("Commands:\n")[2].partition("\n\n")[0]
    assert " ".join(commands.split()) == (
        "probe Look at a device. "
        "simulated-nodes List the simulated nodes that come along for --simulated-node. "
        "check-config Check a config file strictly and show every effective value with where it comes from."
    )


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_names_with_hyphens_are_in_one_piece(program: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """What people copy out of the help works."""
    assert run_program(program, ["--help"], {"COLUMNS": "80"}, lambda _: 1) == 0

    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.endswith("-") and "/" not in line] == []


def test_what_a_subcommand_takes_is_listed_beside_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    """Not under a heading of the program's, such as `Logs and metrics`."""
    assert run("check-config", "--help") == 0

    headings = [line for line in capsys.readouterr().out.splitlines() if line.endswith(":") and line[0] != " "]
    assert headings == ["Arguments:", "Options:"]


def test_help_is_a_subcommand_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("help") == 0
    assert capsys.readouterr().out.startswith("Usage: nvidia-device-plugin [OPTIONS] COMMAND [ARGS]...\n")


@pytest.mark.parametrize("words", ["help probe", "help help probe", "--help probe"])
def test_help_about_a_subcommand_is_its_own(capsys: pytest.CaptureFixture[str], words: str) -> None:
    assert run(*words.split()) == 0
    assert capsys.readouterr().out.startswith("Usage: nvidia-device-plugin probe [OPTIONS] DEVICE\n")


def test_help_about_what_almost_is_one_says_what_was_meant(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("help", "porbe") == 1
    assert capsys.readouterr().err == "nvidia-device-plugin: 'porbe' is no command; did you mean probe?\n"


def test_a_subcommand_has_its_own_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("probe", "--help") == 0

    text = capsys.readouterr().out
    assert text.startswith(
        "Usage: nvidia-device-plugin probe [OPTIONS] DEVICE\n\n  Look at a device.\n\n  The flags of"
    )
    assert "\nArguments:\n  DEVICE  [required]\n" in text
    assert "--depth NUMBER" in text


def test_a_subcommand_without_its_arguments_can_still_be_asked_for_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("probe", "-h") == 0
    assert "DEVICE" in capsys.readouterr().out


def test_an_argument_may_be_a_choice_of_words(capsys: pytest.CaptureFixture[str]) -> None:
    draw = Subcommand(name="draw", doc="Draw.", run=lambda _: 2, arguments=("all|some", "FILE"))

    assert run_program(DEVICE_PLUGIN, ["draw", "-h"], {}, lambda _: 3, subcommands=[draw]) == 0

    assert capsys.readouterr().out.startswith("Usage: nvidia-device-plugin draw [OPTIONS] {all|some} FILE\n")


SCRIPT = """
import os, sys
from gpu_core.command import run_program
from gpu_core.config.programs.device_plugin import DEVICE_PLUGIN
from gpu_core.command import Subcommand
from dataclasses import dataclass
from gpu_core.config.programs.options import Group, setting

@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    depth: int = setting("depth", [], "How deep.", default=1, group=Group.DEVICES)

probe = Subcommand(name="probe", doc="Look.", run=lambda _: 2, arguments=("DEVICE",), settings=Settings)
draw = Subcommand(name="draw", doc="Draw.", run=lambda _: 2, arguments=("all|some",))
more = {"subcommands": [probe, draw], "name": "/bin/nvidia-device-plugin"}
sys.exit(run_program(DEVICE_PLUGIN, sys.argv[1:], os.environ, lambda loaded: 3, **more))
"""


def run_script(*argv: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", SCRIPT, *argv], env=environ, capture_output=True, text=True, check=False
    )


def test_completes_flags_words_and_subcommands_for_the_shell() -> None:
    assert completed("--mig-st") == {"--mig-strategy"}
    assert completed("--mig-strategy s") == {"single"}
    assert completed("check-c") == {"check-config"}


def completed(words: str, **environ: str) -> set[str]:
    """Return what bash is offered for the last of these words, or for a new one behind a blank."""
    done = run_script(
        _NVIDIA_DEVICE_PLUGIN_COMPLETE="complete_bash",
        COMP_WORDS=f"nvidia-device-plugin {words}",
        COMP_CWORD=str(len(words.split()) + words.endswith(" ")),
        **environ,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return set(done.stdout.split())


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        pytest.param("--simulated-node h", {"h100-mig", "h100x8", "h200x8"}, id="simulated nodes"),
        pytest.param("--simulated-node = h", {"h100-mig", "h100x8", "h200x8"}, id="as bash takes --flag=value apart"),
        pytest.param("--simulated-node=gb", {"gb10", "gb200x4"}, id="and as other shells leave it"),
        pytest.param("--mig-strategy = ", {"none", "single", "mixed"}, id="every word of a flag"),
        pytest.param("probe --simulated-node t", {"t4"}, id="simulated nodes behind a subcommand"),
        pytest.param("probe --dep", {"--depth"}, id="a flag of a subcommand"),
        pytest.param("probe --mig-st", {"--mig-strategy"}, id="a flag of the program behind a subcommand"),
        pytest.param("probe gpu0 --config-f", {"--config-file"}, id="one behind an argument"),
        pytest.param("draw ", {"all", "some"}, id="the words that a subcommand takes"),
        pytest.param("draw s", {"some"}, id="one of them"),
        pytest.param("--simulated-node ./", set(), id="files are left to the shell"),
    ],
)
def test_completes_values(words: str, offered: set[str]) -> None:
    assert completed(words) == offered


def test_shows_the_script_for_completion() -> None:
    # Otherwise the shell is looked for among the processes that have started the tests.
    shown = run_script("--show-completion", "bash", _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1")

    assert "_NVIDIA_DEVICE_PLUGIN_COMPLETE" in shown.stdout


def test_completion_that_cannot_be_installed_is_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / ".bash_completions").write_text("a file where a directory has to be")
    done = run_script(
        "--install-completion", "bash", HOME=str(tmp_path), _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1"
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"nvidia-device-plugin: Completion cannot be installed in {tmp_path}/.bash_completions: File exists. "
        "--show-completion prints the script, to put where the shell finds it.\n"
    )


def test_an_argument_that_may_be_left_away_is_shown_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("check-config", "--help") == 0
    text = capsys.readouterr().out
    assert text.startswith("Usage: nvidia-device-plugin check-config [OPTIONS] [FILE]\n")
    assert "\nArguments:\n  FILE\n" in text


def test_a_normal_start_does_not_import_typer() -> None:
    script = f"import sys{SCRIPT.replace('sys.exit(', 'code = (')}\nprint(code, 'typer' in sys.modules)"

    done = subprocess.run([sys.executable, "-c", script], env={}, capture_output=True, text=True, check=True)

    assert done.stdout == "3 False\n"
