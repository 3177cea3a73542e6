"""Helm's own opinion of the chart."""

from __future__ import annotations

import subprocess
from pathlib import Path

import package_chart
import pytest


@pytest.mark.parametrize("helm", ["helm-3", "helm-4"])
def test_helm_lint_finds_nothing(tools: Path, helm: str) -> None:
    done = subprocess.run(package_chart.lint(tools / helm), capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout + done.stderr) == (0, "")
