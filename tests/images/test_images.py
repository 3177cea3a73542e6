"""What the images are built from, without building them: `make images` does that, where an engine is at hand."""

from __future__ import annotations

import ast
import re
import subprocess
import tomllib
from pathlib import Path

import chart_tools
import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCKERFILE = ROOT / "packages/Dockerfile"
PROGRAMS = ("device-plugin", "gpu-feature-discovery", "config-manager", "mps-control-daemon")
SHIPPED = ("core", "cluster", "kubelet", *PROGRAMS)


def project(package: str) -> dict[str, str]:
    """Give the distribution's name, and its programs, of a package's folder."""
    document = tomllib.loads((ROOT / "packages" / package / "pyproject.toml").read_text())["project"]
    return {"name": document["name"], **document.get("scripts", {})}


def test_hadolint_finds_nothing() -> None:
    reason = chart_tools.lacking()
    if reason is not None:
        pytest.skip(reason)

    done = subprocess.run([chart_tools.TOOLS / "hadolint", DOCKERFILE], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize("package", PROGRAMS)
def test_every_program_has_an_image_that_starts_it_by_name(package: str) -> None:
    names = project(package)
    stage = DOCKERFILE.read_text().partition(f"FROM common AS {names['name']}\n")[2].partition("\nFROM ")[0]
    (started,) = re.findall(r'^ENTRYPOINT \["(.+)"\]$', stage, re.MULTILINE)

    assert started in names
    assert names["name"] in (ROOT / "scripts/images").read_text()


def test_images_and_the_working_tree_use_the_same_uv() -> None:
    (pinned,) = re.findall(r"^pinned=(\S+)$", (ROOT / "scripts/find-uv").read_text(), re.MULTILINE)

    assert (ROOT / "scripts/image-tools.txt").read_text().startswith(f"uv=={pinned} ")


def test_no_shipped_program_imports_what_images_leave_out() -> None:
    """Names as in UNUSED_OF_PACKAGES of scripts/image_root.py."""
    tree = ast.parse((ROOT / "scripts/image_root.py").read_text())
    left_out = {
        element.value.replace("/", ".")
        for node in tree.body
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") in {"UNUSED_OF_PACKAGES", "EMPTIED"}
        for element in ast.walk(node.value)
        if isinstance(element, ast.Constant) and isinstance(element.value, str)
    }
    sources = [path for package in SHIPPED for path in (ROOT / "packages" / package / "src").rglob("*.py")]

    assert {"rich", "kubernetes.client.models"} <= left_out
    assert {path.parts[len(ROOT.parts) + 1] for path in sources} == set(SHIPPED)
    assert [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in sources
        for name in imported(path)
        if any(name == one or name.startswith(f"{one}.") for one in left_out)
    ] == []


def imported(path: Path) -> set[str]:
    """Give the modules that a file imports, wherever it does."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found
