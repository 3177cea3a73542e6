"""How the tools come that check the chart, from an index that fails, hangs up and is asked twice at once."""

from __future__ import annotations

import os
import subprocess
import threading
from pathlib import Path

import chart_tools
import pytest
from chart_tools import ToolsMissingError, Wheel

from chart.rendering import ROOT

# Stands for uv: it notes that it was asked, fails as often as a file says, then unpacks a wheel of one file.
UV = """#!/bin/sh
cd "$(dirname "$0")"
echo asked >>journal
while [ "$1" != --target ]; do shift; done
mkdir -p "$2"
left=$(cat failures)
if [ "$left" -gt 0 ]; then
    echo $((left - 1)) >failures
    echo "connection closed" >&2
    exit 2
fi
echo tool >"$2/file"
"""


def kept(unpacked: Path) -> dict[str, bytes]:
    return {"tool": (unpacked / "file").read_bytes(), "schema.json": b"{}"}


WHEELS = [
    Wheel(brings="A tool", project=project, version="1.0", size=20_400_000, sha256="0" * 64, keep=kept)
    for project in ("one", "two")
]


class Index:
    """A directory for tools, and an index that fails some times before it gives anything."""

    def __init__(self, tmp_path: Path, failures: int = 0) -> None:
        self.tools = tmp_path / "tools"
        self.uv = tmp_path / "uv"
        self.uv.write_text(UV)
        self.uv.chmod(0o755)
        self.fails(failures)

    def fails(self, times: int) -> None:
        self.uv.with_name("failures").write_text(f"{times}\n")

    def fetch(self) -> None:
        chart_tools.fetch(WHEELS, self.tools, uv=self.uv, pause=0.0)

    @property
    def asked(self) -> int:
        return len(self.uv.with_name("journal").read_text().splitlines())

    @property
    def modes(self) -> dict[str, str]:
        return {path.name: oct(path.stat().st_mode & 0o777) for path in self.tools.glob("[!.]*")}


def test_what_is_fetched_is_told_with_its_size_and_fetched_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    index = Index(tmp_path)
    index.fetch()
    assert capsys.readouterr().err == (
        "Fetching 41 MB once, for the checks of chart and Dockerfile:\n"
        "  1 of 2: A tool, 20 MB\n"
        "  2 of 2: A tool, 20 MB\n"
    )
    index.fetch()
    assert (capsys.readouterr().err, index.asked) == ("", 2)
    assert index.modes == {"tool": "0o755", "schema.json": "0o644"}
    assert (index.tools / ".complete").exists()


def test_a_line_that_breaks_is_tried_again(tmp_path: Path) -> None:
    index = Index(tmp_path, failures=2)
    index.fetch()
    assert index.asked == 4
    assert (index.tools / ".complete").exists()


def test_after_a_failure_the_next_run_goes_on_where_it_ended(tmp_path: Path) -> None:
    index = Index(tmp_path)
    chart_tools.fetch(WHEELS[:1], index.tools, uv=index.uv, pause=0.0)
    (index.tools / ".complete").unlink()
    index.fails(3)
    with pytest.raises(ToolsMissingError, match=r"two 1\.0 from the package index, which gave:\nconnection closed\n"):
        index.fetch()
    assert not (index.tools / ".complete").exists()
    index.fetch()
    assert index.asked == 5


def test_two_who_need_them_at_once_fetch_them_once(tmp_path: Path) -> None:
    index = Index(tmp_path)
    both = [threading.Thread(target=index.fetch) for _ in range(2)]
    for one in both:
        one.start()
    for one in both:
        one.join()
    assert index.asked == 2


@pytest.mark.parametrize(
    ("machine", "stamped", "expected"),
    [
        pytest.param("x86_64", True, None, id="they are there"),
        pytest.param(
            "x86_64",
            False,
            "The chart's checks need tools that are not here. Run `make tools`, which fetches them.",
            id="nobody has fetched them",
        ),
        pytest.param(
            "aarch64",
            True,
            "The chart's checks need Helm, and its wheels are for x86_64, not for aarch64.\n"
            "Run them on an x86_64 machine.",
            id="there are none for this machine",
        ),
    ],
)
def test_tests_say_why_they_have_no_tools(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, machine: str, stamped: bool, expected: str | None
) -> None:
    monkeypatch.setattr(chart_tools, "TOOLS", tmp_path)
    monkeypatch.setattr("platform.machine", lambda: machine)
    if stamped:
        for wheel in chart_tools.WHEELS:
            wheel.stamp(tmp_path).touch()
    assert chart_tools.lacking() == expected


@pytest.mark.parametrize(
    ("tests", "fetches"),
    [("tests", True), ("tests/core tests/chart/test_lint.py", True), ("tests/images", True), ("tests/core", False)],
)
def test_make_fetches_them_before_the_tests_that_need_them(tests: str, fetches: bool) -> None:
    # As if the script had changed since the last time.
    dry = ["make", "--dry-run", "--what-if=scripts/chart_tools.py", "--old-file=.venv/.synced", "test"]
    # The make that runs these tests has handed its own options down.
    environ = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    done = subprocess.run([*dry, f"TESTS={tests}"], cwd=ROOT, env=environ, capture_output=True, text=True, check=True)
    commands = done.stdout.splitlines()
    (run,) = (number for number, line in enumerate(commands) if line.endswith(f" {tests}"))
    assert [line.rpartition("/")[2] for line in commands[:run]] == (["chart_tools.py"] if fetches else [])
