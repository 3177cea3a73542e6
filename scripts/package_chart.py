"""Check the chart with Helm 3 and Helm 4, and package it into dist/; with --nfd, Node Feature Discovery inside.

The subchart comes from its own registry, which is the only step that needs more than the package index.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import chart_tools

ROOT = chart_tools.ROOT
CHART = ROOT / "charts/nvidia-device-plugin"
DIST = ROOT / "dist"
GENERATORS = ("chart_docs.py", "manifests.py")


def main() -> int:
    """Run every check, then package; the exit code is that of the first step that fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nfd", action="store_true", help="package Node Feature Discovery as the subchart nfd")
    nfd: bool = parser.parse_args().nfd

    try:
        tools = chart_tools.ensure()
    except chart_tools.ToolsMissingError as error:
        print(error, file=sys.stderr)
        return 1
    steps: list[tuple[str | Path, ...]] = [
        *(lint(tools / helm) for helm in ("helm-3", "helm-4")),
        *((sys.executable, ROOT / "scripts" / name, "--check") for name in GENERATORS),
    ]
    for step in steps:
        if code := subprocess.run(step, check=False).returncode:
            return code
    return package(tools / "helm-4", nfd=nfd)


def lint(helm: Path) -> tuple[str | Path, ...]:
    """Return the command that looks the chart over, with the one value that has no default."""
    given = ("--namespace", "gpu", "--set", "image.repository=registry.example/nvidia-device-plugin")
    return (helm, "lint", "--strict", "--quiet", CHART, *given)


def depend_on_nfd(chart: Path) -> None:
    """Make a copy of the chart ask for the subchart."""
    with (chart / "Chart.yaml").open("a") as description:
        description.write((CHART / "nfd-dependency.yaml").read_text())


def package(helm: Path, *, nfd: bool) -> int:
    """Write the chart's archive into dist/. The sources are left alone: dependencies go into a copy."""
    with tempfile.TemporaryDirectory() as directory:
        chart = shutil.copytree(CHART, Path(directory) / CHART.name)
        if nfd:
            depend_on_nfd(chart)
            if code := subprocess.run([helm, "dependency", "update", chart], check=False).returncode:
                return code
        return subprocess.run([helm, "package", chart, "--destination", DIST], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
