"""The tests themselves, started in every way that people start them."""

from __future__ import annotations

import os
import re
import subprocess
import sys

from layers.tree import ROOT


def test_tests_of_signals_pass_where_whoever_started_them_ignores_signals() -> None:
    # As under nohup, and in the background of a script: `sh -c 'make test & wait'`.
    pytest = f"{sys.executable} -m pytest -q -p no:cacheprovider tests/core/runtime/test_held_signals.py"
    script = f"trap '' HUP INT QUIT; exec {pytest}"
    done = subprocess.run(["sh", "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, " passed" in done.stdout) == (0, True), done.stdout


def test_what_the_fast_tests_leave_out_is_there() -> None:
    # The make that runs these tests has handed its own options down.
    environ = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    dry = ["make", "--dry-run", "test-fast"]
    done = subprocess.run(dry, cwd=ROOT, env=environ, capture_output=True, text=True, check=True)
    left_out = set(re.findall(r"--ignore=(\S+)", done.stdout))
    assert "tests/chart" in left_out
    assert [path for path in sorted(left_out) if not (ROOT / path).exists()] == []
