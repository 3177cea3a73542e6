"""`simulated-nodes`: which nodes come along."""

from __future__ import annotations

import json

import pytest

from gpu_core.command import run_program
from gpu_core.config.programs.config_manager import CONFIG_MANAGER
from gpu_core.config.programs.device_plugin import DEVICE_PLUGIN
from gpu_core.devices.simulated.files import describe_nodes, node_names


def test_lists_every_node_with_what_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_program(DEVICE_PLUGIN, ["simulated-nodes"], {}, lambda _: 1) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [tuple(line.split(maxsplit=1)) for line in lines] == list(describe_nodes())
    assert "t4                A cloud machine with one T4" in lines


def test_lists_them_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_program(DEVICE_PLUGIN, ["simulated-nodes", "--format=json"], {}, lambda _: 1) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [node["name"] for node in listed] == list(node_names())
    assert listed[-1] == {
        "name": "wsl",
        "description": "A GeForce RTX 4090 in the Windows Subsystem for Linux",
    }


def test_a_program_without_hardware_has_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_program(CONFIG_MANAGER, ["simulated-nodes"], {}, lambda _: 1) == 1
    assert "'simulated-nodes' counts for nothing" in capsys.readouterr().err
