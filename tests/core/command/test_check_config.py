"""`check-config`: a strict judgement, every effective value, and where each comes from."""

# ruff: noqa: E501  A case is a line, with its whole message.

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from gpu_core.command import run_program
from gpu_core.config.programs.config_manager import CONFIG_MANAGER
from gpu_core.config.programs.device_plugin import DEVICE_PLUGIN
from gpu_core.config.programs.gpu_feature_discovery import GPU_FEATURE_DISCOVERY
from gpu_core.config.programs.mps_control_daemon import MPS_CONTROL_DAEMON
from gpu_core.config.programs.options import Program
from gpu_core.config.reference import PROGRAMS


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


@pytest.mark.parametrize("strategy", ["timeSlicing", "mps"])
@pytest.mark.parametrize("program", [pytest.param(program, id=program.name) for program in PROGRAMS])
def test_one_replica_is_valid_and_comes_to_no_sharing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], program: Program[Any], strategy: str
) -> None:
    file = tmp_path / "config.yaml"
    argv = ["check-config", "--format=json", str(file)]
    file.write_text(f"sharing: {{{strategy}: {{resources: [{{name: gpu, replicas: 1}}]}}}}\n", encoding="utf-8")
    assert run_program(program, argv, {}, lambda _: 1) == 0
    shared = json.loads(capsys.readouterr().out)

    file.write_text("", encoding="utf-8")
    assert run_program(program, argv, {}, lambda _: 1) == 0
    assert shared == json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        pytest.param(["check-config"], "check-config needs FILE, --config-file or CONFIG_FILE; - is standard input.", id="no file"),
        pytest.param(["check-config", "a", "--config-file=b"], "check-config takes one file: give FILE or --config-file, not both.", id="two files"),
        pytest.param(["check-config", "a", "b"], "check-config does not take 'b'; see check-config --help", id="two arguments"),
        pytest.param(["check-config", "/absent"], "The config file /absent cannot be read: No such file or directory.", id="a missing file"),
        pytest.param(["check-config", "/"], "The config file / is a directory; name a file in it.", id="a directory"),
        pytest.param(["check-config", "x", "--format=xml"], "The command line cannot be used: 1 problem found.\n  flag --format: 'xml' is not allowed; use text or json", id="an unknown format"),
    ],
)  # fmt: skip
def test_says_why_it_cannot_check(capsys: pytest.CaptureFixture[str], argv: Sequence[str], message: str) -> None:
    assert run_program(DEVICE_PLUGIN, argv, {}, lambda _: 0) == 1
    assert capsys.readouterr().err == f"nvidia-device-plugin: {message}\n"


@pytest.mark.parametrize(
    ("replicas", "code", "said"),
    [
        pytest.param(4, 0, None, id="a few"),
        pytest.param(10_000, 0, "warning: {file}:4:5: sharing.timeSlicing.resources[1].replicas: 10000 replicas fit for at most 6 GPUs or MIG devices of a node, as the kubelet takes lists of 4194304 bytes", id="as many as fit for some GPUs"),
        pytest.param(61_844, 0, "warning: {file}:4:5: sharing.timeSlicing.resources[1].replicas: 61844 replicas fit for at most one GPU or MIG device of a node, as the kubelet takes lists of 4194304 bytes", id="as many as fit for one"),
        pytest.param(61_845, 1, "error: {file}:4:5: sharing.timeSlicing.resources[1].replicas: 61845 replicas do not fit even for one GPU, as the kubelet takes lists of 4194304 bytes; at most 61844 do", id="more than fit for one"),
    ],
)  # fmt: skip
def test_says_for_how_many_gpus_replicas_fit_into_a_list(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], replicas: int, code: int, said: str | None
) -> None:
    file = tmp_path / "config.yaml"
    head = "sharing:\n  timeSlicing: {resources: [{name: nvidia.com/b, replicas: 2}, {\n    name: nvidia.com/gpu,\n"
    file.write_text(f"{head}    replicas: {replicas}}}]}}\n", encoding="utf-8")

    assert run_program(DEVICE_PLUGIN, ["check-config", str(file)], {}, lambda _: 1) == code
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith(("warning", "error"))]
    assert lines == ([] if said is None else [said.format(file=file)])


@pytest.mark.parametrize(
    ("program", "argv", "environ"),
    [
        pytest.param(DEVICE_PLUGIN, ["check-config", "FILE"], {"CONFIG_FILE": "/absent"}, id="the argument wins over the variable"),
        pytest.param(DEVICE_PLUGIN, ["check-config", "--config-file=FILE"], {"CONFIG_FILE": "/absent"}, id="the flag wins over the variable"),
        pytest.param(DEVICE_PLUGIN, ["--config-file=FILE", "check-config"], {}, id="the flag before the name"),
        pytest.param(DEVICE_PLUGIN, ["check-config"], {"CONFIG_FILE": "FILE"}, id="the variable"),
        pytest.param(GPU_FEATURE_DISCOVERY, ["check-config"], {"GFD_CONFIG_FILE": "FILE", "CONFIG_FILE": "/absent"}, id="the variable that counts"),
        pytest.param(MPS_CONTROL_DAEMON, ["check-config"], {"CONFIG_FILE": "FILE", "LOG_LEVEL": "loud"}, id="whatever else is wrong"),
    ],
)  # fmt: skip
def test_checks_the_file_that_the_program_would_read(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    program: Program[Any],
    argv: list[str],
    environ: dict[str, str],
) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("flags: {migStrateg: single}\n", encoding="utf-8")
    argv = [word.replace("FILE", str(file)) for word in argv]
    environ = {name: value.replace("FILE", str(file)) for name, value in environ.items()}

    assert run_program(program, argv, environ, lambda _: 2) == 1
    assert capsys.readouterr().out.splitlines() == [
        f"error: {file}:1:9: flags.migStrateg: unknown key; did you mean migStrategy?",
        f"{file} is not valid.",
    ]


def test_config_manager_needs_the_name_of_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_program(CONFIG_MANAGER, ["check-config"], {"CONFIG_FILE": "/x"}, lambda _: 2) == 1
    assert capsys.readouterr().err == "config-manager: check-config needs FILE; see check-config --help\n"


STANDARD_INPUT = """
import os, sys
from gpu_core.command import run_program
from gpu_core.config.programs.device_plugin import DEVICE_PLUGIN
sys.exit(run_program(DEVICE_PLUGIN, ["check-config", "-"], {}, lambda loaded: 3))
"""


@pytest.mark.parametrize("redirection", ["| ", "< "])
def test_a_dash_is_standard_input(tmp_path: Path, redirection: str) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("flags: {migStrateg: single}\n", encoding="utf-8")
    line = f'cat {file} | "$0" "$@"' if redirection == "| " else f'"$0" "$@" <{file}'
    command = ["/bin/sh", "-c", line, sys.executable, "-c", STANDARD_INPUT]

    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.splitlines() == [
        "error: standard input:1:9: flags.migStrateg: unknown key; did you mean migStrategy?",
        "standard input is not valid.",
    ]


def test_a_terminal_is_standard_input_too() -> None:
    person, terminal = os.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", STANDARD_INPUT], stdin=terminal, stdout=subprocess.PIPE, text=True
    ) as process:
        os.close(terminal)
        os.write(person, b"version: v1\n\x04")
        assert process.stdout is not None
        assert process.stdout.read().splitlines()[-1] == "standard input is valid."
    os.close(person)


def test_a_closed_standard_input_is_not_taken_for_an_empty_file() -> None:
    command = ["/bin/sh", "-c", '"$0" "$@" <&-', sys.executable, "-c", STANDARD_INPUT]

    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout, done.stderr) == (
        1,
        "",
        "nvidia-device-plugin: Standard input is closed, so no config file can be read from it; open it, or name a file.\n",
    )
