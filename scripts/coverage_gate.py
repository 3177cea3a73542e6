"""Name the lines and branches of pure modules that the tests just run have left out; exit code 1 where there are any.

It reads what `make test` has counted. A pure module is any that tests/layers/edges.py does not name, save the demo's.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import coverage

from layers.edges import EDGES
from layers.tree import DEMO, ROOT, modules

ADVICE = (
    "No test has run these lines and branches of pure modules. Test each for the value that it gives, or delete what "
    "cannot be reached. What touches the world belongs into an edge (tests/layers/edges.py)."
)


def main() -> int:
    """Print what is left out."""
    found = list(left_out(report(pure_files())))
    print("\n".join([*found, ADVICE] if found else ["Every line and branch of every pure module was run."]))
    return 1 if found else 0


def pure_files() -> list[str]:
    """Return the files of the pure modules, as paths below the root."""
    return [str(file) for name, file in modules().items() if name not in EDGES and name.partition(".")[0] != DEMO]


def report(files: Iterable[str]) -> dict[str, Any]:
    """Return coverage's own report on these files."""
    data = coverage.Coverage(data_file=str(ROOT / ".coverage"), config_file=str(ROOT / "pyproject.toml"))
    data.load()
    with tempfile.TemporaryDirectory() as directory:
        out = Path(directory) / "report.json"
        data.json_report(morfs=[str(ROOT / file) for file in files], outfile=str(out))
        told: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    return told


def left_out(told: dict[str, Any]) -> Iterator[str]:
    """Give a line for each file of a report that was not run whole: its lines, then the branches between others."""
    for file, found in sorted(told["files"].items()):
        lines: list[int] = found["missing_lines"]
        # A branch from or to a line that was not run says nothing new.
        branches = [branch for branch in found["missing_branches"] if not set(branch) & set(lines)]
        if lines or branches:
            parts = [*_ranges(lines), *(f"{start}->{end if end > 0 else 'end'}" for start, end in branches)]
            yield f"{file}: {', '.join(parts)}"


def _ranges(lines: list[int]) -> Iterator[str]:
    start = previous = None
    for line in [*lines, None]:
        if start is not None and previous is not None and line != previous + 1:
            yield str(start) if start == previous else f"{start}-{previous}"
            start = None
        start, previous = (line if start is None else start), line


if __name__ == "__main__":
    sys.exit(main())
