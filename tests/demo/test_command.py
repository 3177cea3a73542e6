"""The command line of the demo."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path

import pytest

GPU_DEMO = Path(sys.executable).parent / "gpu-demo"


def ran(*words: str, environ: Mapping[str, str] | None = None) -> tuple[int, str, str]:
    """Run the command; return its exit code and what it wrote."""
    done = subprocess.run(
        [GPU_DEMO, *words],
        env={"COLUMNS": "80", **(environ or {})},
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_help_tells_the_flags_their_defaults_and_examples(flag: str) -> None:
    code, out, errors = ran(flag)
    assert (code, errors) == (0, "")
    for part in (
        "--simulated-node NAME|FILE",
        "Default:\n",
        "h100x8.",
        "--gpus COUNT",
        "gpu-demo --simulated-node=./my",
    ):
        assert part in out, out


def test_the_version_is_told() -> None:
    assert ran("--version") == (0, f"gpu-demo version {metadata.version('gpu-suite-core')}\n", "")


def test_a_shell_completes_the_names_of_nodes() -> None:
    asked = {"_GPU_DEMO_COMPLETE": "complete_bash", "COMP_WORDS": "gpu-demo --simulated-node h", "COMP_CWORD": "2"}
    assert ran(environ=asked) == (0, "h100-mig\nh100x8\nh200x8\n", "")


def test_no_container_asks_for_no_gpu() -> None:
    code, out, errors = ran("--gpus=0")
    assert (code, out) == (2, "")
    assert "'--gpus': 0 is not in the range x>=1" in errors
