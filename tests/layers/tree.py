"""The repository as the layer tests see it: its tracked files, its modules and what they import."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

CORE = "gpu_core"
CLUSTER = "gpu_cluster"
KUBELET = "gpu_kubelet"
DEMO = "gpu_demo"
PROGRAMS = frozenset({"device_plugin", "gpu_feature_discovery", "config_manager", "mps_control_daemon"})
PACKAGES = PROGRAMS | {CORE, CLUSTER, KUBELET, DEMO}


@cache
def files() -> tuple[Path, ...]:
    """Return every file that git tracks or would track, sorted, as paths below the root."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    names = sorted(name for name in listed.split("\0") if name)
    return tuple(Path(name) for name in names if (ROOT / name).is_file())


def generated(path: Path) -> bool:
    """Tell whether a file is generated code."""
    return "_pb" in path.parts


@cache
def modules() -> dict[str, Path]:
    """Return the modules of the packages that a person wrote, by their dotted names."""
    found = {}
    for path in files():
        if path.suffix != ".py" or path.parts[0] != "packages" or generated(path):
            continue
        parts = path.with_suffix("").parts
        dotted = parts[parts.index("src") + 1 :]
        found[".".join(dotted[:-1] if dotted[-1] == "__init__" else dotted)] = path
    return found


@cache
def imports(path: Path) -> frozenset[str]:
    """Return the dotted names that a file imports, wherever in it, except for type checkers only.

    `from a import b` counts as `a.b`, since b may be a module.
    """
    return frozenset(_imported(_parsed(path)))


def _imported(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return
        case ast.Import(names=names):
            yield from (alias.name for alias in names)
        case ast.ImportFrom(module=str(module), names=names, level=0):
            yield from (f"{module}.{alias.name}" for alias in names)
        case _:
            for child in ast.iter_child_nodes(node):
                yield from _imported(child)


@cache
def calls(path: Path) -> frozenset[str]:
    """Return the names of the methods that a file calls, and of `open`."""
    called = [node.func for node in ast.walk(_parsed(path)) if isinstance(node, ast.Call)]
    # Much can be opened that is no file, so the method of that name says nothing.
    methods = {function.attr for function in called if isinstance(function, ast.Attribute)} - {"open"}
    functions = {function.id for function in called if isinstance(function, ast.Name)}
    return frozenset(methods | (functions & {"open"}))


def _parsed(path: Path) -> ast.Module:
    return ast.parse((ROOT / path).read_text(encoding="utf-8"))


def tops(path: Path) -> frozenset[str]:
    """Return the first parts of the names that a file imports."""
    return frozenset(name.partition(".")[0] for name in imports(path))
