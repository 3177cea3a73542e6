"""`nvidia-device-plugin cdi` shows what containers would be given, and writes nothing unasked."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from device_plugin.allocation.show_cdi import CDI
from gpu_core.command import run_program
from gpu_core.config.programs.device_plugin import DEVICE_PLUGIN

NODE = "--simulated-node=a100-mig-mixed"


def run(*argv: str) -> int:
    def serve(_: object) -> int:
        raise AssertionError("nothing is to be served")

    return run_program(DEVICE_PLUGIN, ["cdi", *argv], {}, serve, subcommands=[CDI])


def test_a_list_names_every_device(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("list", NODE, "--device-id-strategy=index", "--mig-strategy=mixed") == 0
    names = capsys.readouterr().out.splitlines()
    assert names == [f"k8s.device-plugin.nvidia.com/gpu=0:{index}" for index in range(4)]


def test_a_specification_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("generate", NODE) == 0
    assert json.loads(capsys.readouterr().out)["kind"] == "k8s.device-plugin.nvidia.com/gpu"


def test_a_specification_is_written_where_it_is_wanted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "nvidia.json"
    assert run("generate", NODE, f"--output={file}") == 0
    assert json.loads(file.read_text("utf-8"))["kind"] == "k8s.device-plugin.nvidia.com/gpu"
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        pytest.param(["show", NODE], "cdi takes generate or list, not 'show'", id="another word"),
        pytest.param(["generate", NODE, "--output=/nowhere/x"], "/nowhere/x cannot be written", id="no such directory"),
        pytest.param(
            ["generate", "--simulated-node=gb200x4", "--imex-channel-ids=0", "--output=x"],
            "a file holds one",
            id="two specifications for one file",
        ),
    ],
)
def test_what_is_refused(argv: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*argv) == 1
    assert said in capsys.readouterr().err


def test_a_link_is_written_through(tmp_path: Path) -> None:
    # As /dev/stdout is: replaced by a file, it would be missing to everybody else.
    file, link = tmp_path / "file", tmp_path / "link"
    link.symlink_to(file)
    assert run("generate", NODE, f"--output={link}") == 0
    assert link.is_symlink()
    assert json.loads(file.read_text("utf-8"))["kind"] == "k8s.device-plugin.nvidia.com/gpu"


def test_a_pipe_is_written_to_and_stays(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor() as reader:
        read = reader.submit(pipe.read_text, "utf-8")
        assert run("generate", NODE, f"--output={pipe}") == 0
        assert json.loads(read.result())["kind"] == "k8s.device-plugin.nvidia.com/gpu"
    assert pipe.is_fifo()
