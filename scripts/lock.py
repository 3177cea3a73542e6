"""Resolve every dependency anew and write the exact versions to pyproject.toml and requirements.lock.

`uv.lock` records the index it was made from, so it stays out of the repository. Two files take its place: the
pins in `[tool.uv] constraint-dependencies`, which hold for `uv sync` and `uv run`, and `requirements.lock` with
the hash of every file, which `make sync` and the images install from. Neither names an index.

Versions that are pinned already stay; --upgrade takes the newest that the packages allow.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROJECT = ROOT / "pyproject.toml"
LOCK = ROOT / "requirements.lock"
PINS = re.compile(r"^constraint-dependencies = \[[^\]]*\]$", re.MULTILINE)
EXPORT = ("export", "--frozen", "--all-packages", "--no-emit-workspace", "--no-header", "--no-annotate")


def main() -> int:
    """Resolve, then write both files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--upgrade", action="store_true", help="take the newest versions instead of the pinned ones")
    parser.add_argument("--uv", required=True, help="the uv to resolve with")
    options = parser.parse_args()

    if options.upgrade:
        write_pins([])
        run(options.uv, "lock", "--quiet", "--upgrade")
    else:
        run(options.uv, "lock", "--quiet")
    write_pins(run(options.uv, *EXPORT, "--no-hashes").splitlines())
    # The pins are part of what was resolved, so that a second run changes nothing.
    run(options.uv, "lock", "--quiet")
    LOCK.write_text(run(options.uv, *EXPORT), encoding="utf-8")
    return 0


def write_pins(requirements: list[str]) -> None:
    """Replace the pins by these. Markers go: a version that nothing asks for is no constraint on anything."""
    pins = sorted({line.split(";")[0].strip() for line in requirements})
    listed = "".join(f'    "{pin}",\n' for pin in pins)
    block = f"constraint-dependencies = [\n{listed}]" if pins else "constraint-dependencies = []"
    text, found = PINS.subn(lambda _: block, PROJECT.read_text(encoding="utf-8"))
    if found != 1:
        sys.exit(f"{PROJECT.name} should hold `constraint-dependencies = [` once, at the start of a line.")
    PROJECT.write_text(text, encoding="utf-8")


def run(*command: str) -> str:
    """Run one command in the root of the repository and return what it printed; its errors go to the terminal."""
    done = subprocess.run(command, cwd=ROOT, check=False, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(done.returncode)
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
