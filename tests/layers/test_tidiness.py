"""What every file of the repository has in common."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from layers.tree import PACKAGES, ROOT, files, generated

WRITTEN = [path for path in files() if path.suffix == ".py" and not generated(path)]
LONGEST = 300
NO_NAMES = frozenset({"common", "handler", "handlers", "helper", "helpers", "manager", "misc", "util", "utils"})

# Paths that only exist where somebody works: a person's home directory, or a checkout below /work.
PRIVATE = re.compile(rb"(?<![\w.~}/-])/(?:home/(?!user\b)[a-z]|Users/[A-Za-z]|root/[.a-z]|work/[a-z])")


def test_no_file_is_longer_than_one_idea() -> None:
    lengths = {str(path): len((ROOT / path).read_text(encoding="utf-8").splitlines()) for path in WRITTEN}
    assert lengths
    assert {path: length for path, length in lengths.items() if length > LONGEST} == {}


def test_no_module_is_named_after_nothing() -> None:
    assert [str(path) for path in WRITTEN if path.stem in NO_NAMES] == []


@pytest.mark.parametrize("package", sorted(PACKAGES))
def test_every_package_offers_its_types(package: str) -> None:
    assert [path.parts[-2:] for path in files() if path.parts[-2:] == (package, "py.typed")] == [(package, "py.typed")]


def test_no_file_names_somebodys_directory() -> None:
    assert [str(path) for path in files() if PRIVATE.search((ROOT / path).read_bytes())] == []


@pytest.mark.parametrize(
    ("text", "private"),
    [
        pytest.param("'|home|ann|code'", True, id="a home directory"),
        pytest.param("=|work|main", True, id="a checkout"),
        pytest.param("cd |root|.cache", True, id="the home directory of root"),
        pytest.param("$HOME|work|x", False, id="a folder called work"),
        pytest.param("|driver-root|usr", False, id="a driver root"),
        pytest.param("|driver|root|lib", False, id="a folder called root"),
    ],
)
def test_what_counts_as_somebodys_directory(text: str, private: bool) -> None:
    # The bars keep this file itself clean.
    assert (PRIVATE.search(text.replace("|", "/").encode()) is not None) is private


def test_git_would_not_track_what_is_made_here() -> None:
    made = {".venv", ".tools", "uv.lock", "__pycache__"}
    assert [str(path) for path in files() if made & set(path.parts)] == []


def test_every_script_can_be_run_as_it_is() -> None:
    scripts = [path for path in files() if path.parts[0] in ("scripts", ".ci") and not path.suffix]
    assert [str(path) for path in scripts if not (ROOT / path).stat().st_mode & 0o100] == []
    assert Path(".ci/run") in scripts
