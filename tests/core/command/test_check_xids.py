"""`check-config` tells which XIDs make a device unhealthy, once policy, lists and variables are put together."""

# ruff: noqa: E501  A case is a line, with its whole message.

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from gpu_core.command import run_program
from gpu_core.config.programs.device_plugin import DEVICE_PLUGIN
from gpu_core.config.programs.gpu_feature_discovery import GPU_FEATURE_DISCOVERY


@pytest.mark.parametrize(
    ("text", "argv", "environ", "said"),
    [
        pytest.param(
            "",
            [],
            {},
            "XIDs that change nothing: 13, 31, 43, 45, 68, 109; every other one makes a device unhealthy.",
            id="the original's list by default",
        ),
        pytest.param(
            "health: {xidPolicy: catalogue, fatalXIDs: [94, 13]}\n",
            [],
            {},
            "XIDs that change nothing: 8, 11, 25, 31, 32, 37, 38, 39, 40, 41, 43, 44, 45, 60, 63, 66, 67, 68, 69, 70, 71, 72, 75, 76, 77, 80, 82, 83, 84, 85, 86, 88, 89, 92, 93, 96, 97, 98, 99, 100, 101, 102, 103, 104, 105, 106, 107, 121, 126, 127, 128, 129, 130, 131, 132, 133, 134, 135, 137, 139, 141, 152, 153, 154, 157, 160, 161; every other one makes a device unhealthy.",
            id="the catalogue's without what the config makes fatal",
        ),
        pytest.param(
            "health: {ignoredXIDs: [79]}\n",
            [],
            {"DP_ENABLE_HEALTHCHECKS": "13"},
            "XIDs that change nothing: 31, 43, 45, 68, 79, 109; every other one makes a device unhealthy.",
            id="with lists and variables",
        ),
        pytest.param(
            "",
            ["--xid-policy=catalogue"],
            {"XID_POLICY": "original", "DP_DISABLE_HEALTHCHECKS": "all", "DP_ENABLE_HEALTHCHECKS": "79"},
            "XIDs that make a device unhealthy: 79; every other one changes nothing.",
            id="all but one turned off",
        ),
        pytest.param(
            "",
            [],
            {"DP_DISABLE_HEALTHCHECKS": "all"},
            "No XID makes a device unhealthy: health checks are off.",
            id="all turned off",
        ),
    ],
)
def test_says_which_xids_make_a_device_unhealthy(  # noqa: PLR0917 - one row of the table.
    text: str,
    argv: Sequence[str],
    environ: dict[str, str],
    said: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(text, encoding="utf-8")
    assert run_program(DEVICE_PLUGIN, ["check-config", str(file), *argv], environ, lambda _: 1) == 0
    assert capsys.readouterr().out.splitlines()[-2] == said
    assert run_program(DEVICE_PLUGIN, ["check-config", str(file), "--format=json", *argv], environ, lambda _: 1) == 0
    assert json.loads(capsys.readouterr().out)["xids"]["text"] == said


def test_gives_the_list_of_xids_to_programs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("health: {ignoredXIDs: [94]}\n", encoding="utf-8")
    environ = {"DP_ENABLE_HEALTHCHECKS": "13,foo"}
    assert run_program(DEVICE_PLUGIN, ["check-config", str(file), "--format=json"], environ, lambda _: 1) == 0
    report = json.loads(capsys.readouterr().out)
    del report["xids"]["text"]
    assert report["xids"] == {
        "ignored": [13, 31, 43, 45, 68, 94, 109],
        "ignoredAll": False,
        "always": [13],
        "alwaysAll": False,
    }
    assert [warning["message"] for warning in report["warnings"]] == [
        "DP_ENABLE_HEALTHCHECKS: 'foo' is no XID and is passed over. Write numbers separated by commas, or all."
    ]


def test_a_wrong_policy_of_xids_is_refused_with_the_words_allowed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("health: {xidPolicy: catalog}\n", encoding="utf-8")
    assert run_program(DEVICE_PLUGIN, ["check-config", str(file)], {}, lambda _: 1) == 1
    assert capsys.readouterr().out.splitlines() == [
        f"error: {file}:1:10: health.xidPolicy: 'catalog' is not allowed; use original or catalogue",
        f"{file} is not valid.",
    ]


def test_says_nothing_of_xids_for_programs_that_watch_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("", encoding="utf-8")
    assert run_program(GPU_FEATURE_DISCOVERY, ["check-config", str(file)], {}, lambda _: 1) == 0
    assert "XIDs that" not in capsys.readouterr().out
