"""What a package imports it declares, and what it declares it imports."""

from __future__ import annotations

import sys
import tomllib
from importlib.metadata import packages_distributions
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from layers.tree import PACKAGES, ROOT, modules, tops

# Needed without an import in code that a person wrote: by generated code, and for the programs that are started.
UNSEEN = {"gpu_kubelet": {"protobuf"}, "gpu_demo": {"gpu-feature-discovery", "nvidia-device-plugin"}}


def project(package: str) -> dict[str, Any]:
    """Return the metadata of the distribution that holds an import package."""
    folder = ROOT / modules()[package].parents[2]
    document = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))
    metadata: dict[str, Any] = document["project"]
    return metadata


def owners() -> dict[str, str]:
    """Return the distribution of every import package, ours and others'."""
    installed = {name: canonicalize_name(names[0]) for name, names in packages_distributions().items()}
    return installed | {package: project(package)["name"] for package in PACKAGES}


@pytest.mark.parametrize("package", sorted(PACKAGES))
def test_a_package_declares_what_it_imports_and_nothing_else(package: str) -> None:
    paths = [path for module, path in modules().items() if module.partition(".")[0] == package]
    names = {name for path in paths for name in tops(path)} - sys.stdlib_module_names - {package}
    imported = {owners()[name] for name in names} | UNSEEN.get(package, set())
    declared = {canonicalize_name(Requirement(text).name) for text in project(package).get("dependencies", ())}
    assert sorted(imported) == sorted(declared)
