"""The examples of docs/howto/configure.md do what the page says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gpu_core.command import run_program
from gpu_core.config.programs.device_plugin import DEVICE_PLUGIN

PAGE = (Path(__file__).parents[3] / "docs" / "howto" / "configure.md").read_text(encoding="utf-8")
BROKEN = 'version: v1\nflags:\n  renameByDefault: true\n  failOnInitError: "true"\n'


def test_the_file_on_the_page_is_valid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    example = re.search(r"```yaml\n(# config\.yaml\n.*?)```", PAGE, re.DOTALL)
    assert example is not None
    (tmp_path / "config.yaml").write_text(example[1], encoding="utf-8")

    assert run_program(DEVICE_PLUGIN, ["check-config", "config.yaml"], {}, lambda _: 1) == 0
    printed = capsys.readouterr().out.splitlines()
    shown = PAGE.partition("$ nvidia-device-plugin check-config config.yaml\n")[2].partition("```")[0].splitlines()
    assert [line.split() for line in shown[:3]] == [line.split() for line in printed[:3]]
    assert shown[-1] == printed[-1]


def test_the_problems_on_the_page_are_the_ones_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken.yaml").write_text(BROKEN, encoding="utf-8")

    assert run_program(DEVICE_PLUGIN, ["check-config", "broken.yaml"], {}, lambda _: 1) == 1
    assert f"$ nvidia-device-plugin check-config broken.yaml\n{capsys.readouterr().out}```" in PAGE
