"""Helm's own opinion of the chart."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from chart.rendering import CHART


@pytest.mark.parametrize("helm", ["helm-3", "helm-4"])
def test_helm_lint_finds_nothing(tools: Path, helm: str) -> None:
    done = subprocess.run(
        [tools / helm, "lint", "--strict", "--quiet", CHART, "--namespace", "gpu"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stdout + done.stderr) == (0, "")
