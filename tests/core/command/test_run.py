"""The start of a program: what its command line asks for, exit codes, and errors in one message."""

# ruff: noqa: E501  A case is a line, with its whole message.

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from gpu_core.command import Invocation, Subcommand, run_program
from gpu_core.config.load import Loaded
from gpu_core.config.options import Group, setting
from gpu_core.config.programs import CONFIG_MANAGER, DEVICE_PLUGIN, GPU_FEATURE_DISCOVERY, PROGRAMS
from gpu_core.errors import ConfigError, HardwareError


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeSettings:
    depth: int = setting("depth", ["PROBE_DEPTH"], "How deep.", default=1, group=Group.DEVICES)
    mig_strategy: str = setting("mig-strategy", [], "Another meaning here.", default="own", group=Group.DEVICES)


@dataclass
class Started:
    """Remembers what was run."""

    loaded: list[Loaded[Any]] = field(default_factory=list)
    invocations: list[Invocation] = field(default_factory=list)

    def main(self, loaded: Loaded[Any]) -> int:
        self.loaded.append(loaded)
        return 7

    def probe(self, invocation: Invocation) -> int:
        self.invocations.append(invocation)
        return 5

    def run(self, *argv: str, environ: Mapping[str, str] | None = None) -> int:
        probe = Subcommand(
            name="probe", doc="Look at a device.", run=self.probe, arguments=("DEVICE",), settings=ProbeSettings
        )
        return run_program(DEVICE_PLUGIN, argv, environ or {}, self.main, subcommands=[probe])


@pytest.fixture
def started() -> Started:
    return Started()


def test_runs_the_program_with_what_it_was_told(started: Started) -> None:
    assert started.run("--gds-enabled", environ={"MIG_STRATEGY": "single"}) == 7

    (loaded,) = started.loaded
    assert (loaded.config.flags.gds_enabled, loaded.config.flags.mig_strategy) == (True, "single")


@pytest.mark.parametrize(
    "argv",
    [
        pytest.param(["extra", "--gds-enabled"], id="an argument that is no subcommand"),
        pytest.param(["--", "probe"], id="the name of a subcommand behind two dashes"),
    ],
)
def test_ignores_other_arguments(started: Started, argv: Sequence[str]) -> None:
    assert started.run(*argv) == 7
    assert not started.loaded[0].config.flags.gds_enabled


def test_a_subcommand_takes_flags_of_its_own_and_of_the_program_on_all_sides(started: Started) -> None:
    code = started.run(
        "--gds-enabled", "probe", "--depth=3", "gpu0", "--mofed-enabled", environ={"CUSTOM_RESOURCES": "1"}
    )

    assert code == 5
    (invocation,) = started.invocations
    assert invocation.arguments == ("gpu0",)
    assert invocation.own_settings() == ProbeSettings(depth=3)
    flags = invocation.load().config.flags
    assert (flags.gds_enabled, flags.mofed_enabled, flags.custom_resources) == (True, True, True)


def test_a_flag_of_a_subcommand_hides_one_of_the_program(started: Started) -> None:
    started.run("probe", "gpu0", "--mig-strategy=deep", environ={"PROBE_DEPTH": "2"})

    (invocation,) = started.invocations
    assert invocation.own_settings() == ProbeSettings(depth=2, mig_strategy="deep")
    assert invocation.load().config.flags.mig_strategy == "none"


def test_two_dashes_end_the_flags_of_a_subcommand(started: Started) -> None:
    started.run("probe", "--", "--gpu0")

    assert started.invocations[0].arguments == ("--gpu0",)


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        pytest.param(["--quux"], "--quux is no flag; --help lists them", id="an unknown flag"),
        pytest.param(["probe"], "probe needs DEVICE; see probe --help", id="a missing argument"),
        pytest.param(["probe", "a", "b"], "probe does not take 'b'; see probe --help", id="an argument too many"),
        pytest.param(["probe", "a", "--quux"], "--quux is no flag; --help lists them", id="an unknown flag behind"),
    ],
)
def test_a_wrong_command_line_ends_with_one_line(
    started: Started, capsys: pytest.CaptureFixture[str], argv: Sequence[str], message: str
) -> None:
    assert started.run(*argv) == 1
    assert capsys.readouterr().err == f"nvidia-device-plugin: {message}\n"


def test_wrong_settings_of_a_subcommand_are_a_config_error(started: Started) -> None:
    started.run("probe", "a", environ={"PROBE_DEPTH": "x"})

    with pytest.raises(ConfigError, match="environment PROBE_DEPTH: 'x' is no whole number"):
        started.invocations[0].own_settings()


def test_a_failure_of_the_program_is_told_without_a_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    def main(_: Loaded[Any]) -> int:
        raise HardwareError("No GPU answers; look at dmesg.")

    assert run_program(GPU_FEATURE_DISCOVERY, [], {}, main) == 1
    assert capsys.readouterr() == ("", "gpu-feature-discovery: No GPU answers; look at dmesg.\n")


@pytest.mark.parametrize("flag", ["--version", "-v", "-version"])
def test_tells_the_version(started: Started, capsys: pytest.CaptureFixture[str], flag: str) -> None:
    assert started.run(flag) == 0
    assert capsys.readouterr().out == f"NVIDIA Device Plugin version {metadata.version('gpu-suite-core')}\n"


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_help_names_every_option_with_its_variables(program: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_program(program, ["--help"], {"COLUMNS": "100"}, lambda _: 1) == 0

    text = capsys.readouterr().out
    words = set(text.replace(",", " ").replace("]", " ").replace(";", " ").split())
    for option in program.options:
        assert {f"--{name}" if len(name) > 1 else f"-{name}" for name in option.names} <= words
        assert set(option.variables) <= words | {word.rstrip(":") for word in words}
        assert str(option.group) + ":" in text or not option.name
    for _, line in program.examples:
        assert f"    {line}\n" in text
    assert "check-config" in text


def test_help_is_a_subcommand_too(started: Started, capsys: pytest.CaptureFixture[str]) -> None:
    assert started.run("help") == 0
    assert capsys.readouterr().out.startswith("Usage: nvidia-device-plugin [OPTIONS] COMMAND [ARGS]...\n")


def test_a_subcommand_has_its_own_help(started: Started, capsys: pytest.CaptureFixture[str]) -> None:
    assert started.run("probe", "--help") == 0

    text = capsys.readouterr().out
    assert text.startswith("Usage: nvidia-device-plugin probe [OPTIONS] {DEVICE}\n\n  Look at a device.\n")
    assert "--depth <int>" in text


def test_a_subcommand_without_its_arguments_can_still_be_asked_for_help(
    started: Started, capsys: pytest.CaptureFixture[str]
) -> None:
    assert started.run("probe", "-h") == 0
    assert "{DEVICE}" in capsys.readouterr().out


SCRIPT = """
import os, sys
from gpu_core.command import run_program
from gpu_core.config.programs import DEVICE_PLUGIN
sys.exit(run_program(DEVICE_PLUGIN, sys.argv[1:], os.environ, lambda loaded: 3))
"""


def run_script(*argv: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", SCRIPT, *argv], env=environ, capture_output=True, text=True, check=False
    )


def test_completes_flags_words_and_subcommands_for_the_shell() -> None:
    def completed(words: str) -> set[str]:
        done = run_script(
            _NVIDIA_DEVICE_PLUGIN_COMPLETE="complete_bash",
            COMP_WORDS=f"nvidia-device-plugin {words}",
            COMP_CWORD=str(len(words.split())),
        )
        assert done.returncode == 0
        return set(done.stdout.split())

    assert completed("--mig-st") == {"--mig-strategy"}
    assert completed("--mig-strategy s") == {"single"}
    assert completed("check-c") == {"check-config"}


def test_shows_the_script_for_completion() -> None:
    shown = run_script("--show-completion", SHELL="/bin/bash", _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1")

    assert "_NVIDIA_DEVICE_PLUGIN_COMPLETE" in shown.stdout + run_script("--show-completion", "bash").stdout


def test_a_normal_start_does_not_import_typer() -> None:
    script = f"import sys{SCRIPT.replace('sys.exit(', 'code = (')}\nprint(code, 'typer' in sys.modules)"

    done = subprocess.run([sys.executable, "-c", script], env={}, capture_output=True, text=True, check=True)

    assert done.stdout == "3 False\n"


def test_checks_a_config_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("flags: {migStrategy: single}\n", encoding="utf-8")

    code = run_program(
        DEVICE_PLUGIN,
        ["check-config", str(file), "--gds-enabled"],
        {"MPS_ROOT": "/m", "NODE_NAME": "ignored"},
        lambda _: 1,
    )

    assert code == 0
    lines = dict(line.split(None, 1) for line in capsys.readouterr().out.splitlines())
    assert lines["flags.migStrategy"] == f'"single"  (file {file}:1:9)'
    assert lines["flags.gdsEnabled"] == "true  (flag --gds-enabled)"
    assert lines["flags.mpsRoot"] == '"/m"  (environment MPS_ROOT)'
    assert lines["flags.gfd.sleepInterval"] == '"1m0s"  (default)'
    assert lines["resources.gpus"] == "[]  (default)"
    assert lines["flags.nvidiaDevRoot"] == "null  (default)"
    assert "sharing.mps.resources" not in lines
    assert lines[str(file)] == "is valid."


def test_checks_strictly_and_tells_everything(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("FLAGS: {migStrateg: single, gfd: {sleepInterval: 15}, gdsEnabled: 1}\n", encoding="utf-8")

    assert run_program(CONFIG_MANAGER, ["check-config", str(file)], {}, lambda _: 1) == 1

    assert capsys.readouterr().out.splitlines() == [
        f"error: {file}:1:9: flags.migStrateg: unknown key; did you mean migStrategy?",
        f"error: {file}:1:67: flags.gdsEnabled: expected true or false, found the number 1",
        f"warning: {file}:1:1: FLAGS: is read as flags; write it so",
        f"{file} is not valid.",
    ]


def test_reports_for_programs_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("sharing: {mps: {resources: [{name: gpu, replicas: 2}]}}\n", encoding="utf-8")

    assert run_program(DEVICE_PLUGIN, ["check-config", "--format=json", str(file)], {}, lambda _: 1) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["file"], report["valid"], report["errors"]) == (str(file), True, [])
    assert report["warnings"] == [
        {
            "where": "flags.mpsRoot",
            "line": None,
            "column": None,
            "message": "sharing.mps needs the directory that daemons and clients share; set --mps-root",
        }
    ]
    assert report["values"]["sharing.mps.resources"] == {
        "value": [{"name": "nvidia.com/gpu", "replicas": 2}],
        "origin": f"file {file}:1:17",
    }

    file.write_text("version: v2\n", encoding="utf-8")
    assert run_program(DEVICE_PLUGIN, ["check-config", "--format=json", str(file)], {}, lambda _: 1) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["errors"] == [
        {
            "where": "version",
            "line": 1,
            "column": 10,
            "message": "'v2' is an unknown version; only v1 exists",
        }
    ]
    assert report["values"] == {}


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        pytest.param(["check-config"], "check-config needs FILE; see check-config --help", id="no file"),
        pytest.param(["check-config", "/absent"], "The config file /absent cannot be read: No such file or directory.", id="a missing file"),
        pytest.param(["check-config", "/"], "The config file / is a directory; name a file in it.", id="a directory"),
        pytest.param(["check-config", "x", "--format=xml"], "The configuration cannot be used: 1 problem found.\n  flag --format: 'xml' is not allowed; use text or json", id="an unknown format"),
    ],
)  # fmt: skip
def test_says_why_it_cannot_check(capsys: pytest.CaptureFixture[str], argv: Sequence[str], message: str) -> None:
    assert run_program(DEVICE_PLUGIN, argv, {}, lambda _: 0) == 1
    assert capsys.readouterr().err == f"nvidia-device-plugin: {message}\n"
