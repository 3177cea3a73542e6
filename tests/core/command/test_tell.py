"""Answers on standard output, whatever became of it."""

from __future__ import annotations

import os
import subprocess
import sys
import termios
from pathlib import Path

import pytest

SCRIPT = """
import os, sys
from gpu_core.command import run_program
from gpu_core.config.programs.device_plugin import DEVICE_PLUGIN
sys.exit(run_program(DEVICE_PLUGIN, sys.argv[1:], os.environ, lambda loaded: 3))
"""
PROBLEM = "nvidia-device-plugin: The answer cannot be written to standard output: No space left on device.\n"
CLOSED = "nvidia-device-plugin: Standard output is closed, so the answer cannot be written; open it, or redirect it.\n"


def ask(redirection: str, *argv: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run a program through a shell that redirects its standard output."""
    line = f'"$0" "$@" {redirection}'
    return subprocess.run(
        ["/bin/sh", "-c", line, sys.executable, "-c", SCRIPT, *argv],
        # Otherwise the shell is looked for among the processes that have started the tests.
        env={"PATH": "/usr/bin:/bin", "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1", **environ},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(
    params=["--version", "--help", "check-config /dev/null", "simulated-nodes", "--show-completion", "help"]
)
def question(request: pytest.FixtureRequest) -> list[str]:
    words: str = request.param
    return [*words.split(), *(["bash"] if words == "--show-completion" else [])]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is always full")
def test_a_full_disk_is_told_in_one_line(question: list[str]) -> None:
    done = ask(">/dev/full", *question)

    assert (done.returncode, done.stderr) == (1, PROBLEM)


def test_a_closed_output_is_told_in_one_line(question: list[str]) -> None:
    done = ask(">&-", *question)

    assert (done.returncode, done.stderr) == (1, CLOSED)


def test_a_reader_that_left_is_no_error(question: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)

    environ = {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    command = [sys.executable, "-c", SCRIPT, *question]
    done = subprocess.run(command, env=environ, stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)

    assert (done.returncode, done.stderr) == (0, b"")


def test_characters_that_the_output_lacks_are_escaped(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("café: 1\n", encoding="utf-8")

    done = ask("", "check-config", str(file), PYTHONIOENCODING="ascii")

    assert (done.returncode, done.stderr) == (1, "")
    assert r": caf\xe9: unknown key" in done.stdout


def test_a_closed_standard_error_stops_nothing() -> None:
    done = ask("2>&-", "check-config", "/dev/null")

    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "/dev/null is valid.")
    assert ask("2>&-", "--quux").returncode == 1
    assert ask("2>&-").returncode == 3


def test_a_complaint_is_folded_for_who_reads_it_on_a_terminal() -> None:
    person, terminal = os.openpty()
    termios.tcsetwinsize(terminal, (24, 60))
    variables = {"CONFIG_FILE": "/a/path/that/is/much/longer/than/a/line/of/this/small/terminal.yaml"}
    subprocess.run([sys.executable, "-c", SCRIPT, "--log-level=x"], env=variables, stderr=terminal, check=False)
    subprocess.run([sys.executable, "-c", SCRIPT, "--log-level=x"], env={}, stderr=terminal, check=False)
    os.close(terminal)
    said = os.read(person, 10_000).decode().replace("\r\n", "\n")
    os.close(person)
    assert said == (
        "nvidia-device-plugin: The config file\n"
        "  /a/path/that/is/much/longer/than/a/line/of/this/small/terminal.yaml\n"
        "  cannot be read: No such file or directory.\n"
        "nvidia-device-plugin: The command line cannot be used: 1\n"
        "  problem found.\n"
        "  flag --log-level: 'x' is not allowed; use debug, info,\n"
        "    warning or error\n"
    )
