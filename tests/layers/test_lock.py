"""The locked versions: exact, complete, in agreement with the packages, and silent about where they came from."""

from __future__ import annotations

import re
import tomllib
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from layers.tree import ROOT, files

LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PINS: list[str] = PROJECT["tool"]["uv"]["constraint-dependencies"]
AGAIN = "Run `make lock` and commit the result."


def projects() -> dict[str, dict[str, Any]]:
    """Return the metadata of every package of the workspace by its name."""
    paths = [path for path in files() if path.parts[0] == "packages" and path.name == "pyproject.toml"]
    documents = [tomllib.loads((ROOT / path).read_text(encoding="utf-8")) for path in paths]
    return {document["project"]["name"]: document["project"] for document in documents}


def locked() -> dict[str, str]:
    """Return the version of every locked package by its canonical name."""
    pairs = re.findall(r"^([\w.-]+)==([^\s;\\]+)", LOCK, re.MULTILINE)
    return {canonicalize_name(name): version for name, version in pairs}


def test_the_lock_and_the_pins_are_the_same() -> None:
    assert [f"{name}=={version}" for name, version in locked().items()] == sorted(
        PINS, key=lambda pin: pin.partition("==")[0]
    ), AGAIN


def test_every_locked_package_has_hashes() -> None:
    entries = re.split(r"\n(?=\S)", LOCK.strip())
    assert [entry.split()[0] for entry in entries if "--hash=sha256:" not in entry] == []


def test_nothing_says_where_packages_come_from() -> None:
    assert "://" not in LOCK
    assert [
        key for key in ("index", "index-url", "extra-index-url", "find-links") if key in PROJECT["tool"]["uv"]
    ] == []


def test_every_dependency_is_locked_at_a_version_that_it_allows() -> None:
    ours = projects()
    wanted = [text for project in ours.values() for text in project.get("dependencies", ())]
    wanted += PROJECT["dependency-groups"]["dev"]
    unmet = []
    for text in wanted:
        requirement = Requirement(text)
        version = ours.get(requirement.name, {}).get("version") or locked().get(canonicalize_name(requirement.name))
        if version is None or not requirement.specifier.contains(version, prereleases=True):
            unmet.append(f"{text} (locked: {version})")
    assert unmet == [], AGAIN


def test_the_whole_suite_has_one_version() -> None:
    assert {project["version"] for project in projects().values()} == {"0.1.0"}
