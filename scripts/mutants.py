"""Mutate the modules that a change touches, and show every mutant that no test notices.

    make mutants                                                   what differs from main
    make mutants BASE=HEAD~3                                       what differs from another commit
    make mutants MODULES=packages/core/src/gpu_core/mps/plan.py    these modules, changed or not
    make mutants TESTS=tests/core/mps                              with these tests only

The tests are those that import a module, by themselves or through a fake, and those of the folder that mirrors its
own. mutmut works on a copy, in .tools/mutants, where all packages lie in one `src`: it knows no workspace. What is
decorated, and what runs only in a started program, it does not mutate.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from layers.tree import ROOT, files, imports, modules

COPY = ROOT / ".tools/mutants"
MUTMUT = ROOT / ".venv/bin/mutmut"
# The folders of tests that are not called like the package.
FOLDERS = {"gpu_core": "core", "gpu_cluster": "cluster", "gpu_kubelet": "kubelet"}
# What mutmut says of a mutant of which no test has complained.
LIVES = ("survived", "no tests")


def main() -> int:
    """Do it; the exit code is 1 only where mutants could not be made, since some of them are as good as the code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", default="main", help="the commit to compare with")
    parser.add_argument("--tests", nargs="*", default=[], help="the tests to run, instead of those that fit")
    parser.add_argument("modules", nargs="*", help="files, instead of those that differ")
    options = parser.parse_args()

    named = {os.path.relpath(ROOT / file, ROOT) for file in options.modules or changed(options.base)}
    chosen = {name: path for name, path in modules().items() if str(path) in named}
    if not chosen:
        print(f"No module differs from {options.base}. Name some with MODULES=, or another commit with BASE=.")
        return 0
    tests = options.tests or sorted({test for name, path in chosen.items() for test in fitting_tests(name, path)})
    print(f"Mutating {', '.join(sorted(chosen))}\nwith {' '.join(tests)}", flush=True)
    prepare(chosen.values(), tests)
    # Its progress is for people.
    caught = None if sys.stdout.isatty() else subprocess.PIPE
    command = [str(MUTMUT), "run", "--max-children", str(os.cpu_count() or 1)]
    done = subprocess.run(command, cwd=COPY, check=False, stdout=caught, stderr=caught, text=True)
    if done.returncode:
        print(f"{done.stdout or ''}{done.stderr or ''}mutmut has made no mutants; it says why above.", file=sys.stderr)
        return 1
    show(lived(told("results")))
    return 0


def changed(base: str) -> list[str]:
    """Return the files that differ from where this branch left `base`, or that git does not know yet."""
    fork = git("merge-base", base, "HEAD").strip()
    return [*git("diff", "--name-only", fork).splitlines(), *git("ls-files", "-o", "--exclude-standard").splitlines()]


def git(*words: str) -> str:
    """Return what git answers."""
    done = subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True)  # noqa: S607  The git on PATH.
    return done.stdout


def fitting_tests(module: str, path: Path) -> list[str]:
    """Return the tests of a module; where none import it, all of its package."""
    sources = {_test_name(file): file for file in files() if file.parts[0] == "tests" and file.suffix == ".py"}
    users = {name for name, file in sources.items() if _uses(file, module)}
    while True:
        more = {name for name, file in sources.items() if any(_uses(file, user) for user in users)} - users
        if not more:
            break
        users |= more
    found = [str(sources[name]) for name in sorted(users) if sources[name].name.startswith("test_")]
    package, *rooms = module.split(".")
    folder = Path("tests", FOLDERS.get(package, package))
    mirrored = folder.joinpath(*rooms[: len(rooms) - (path.name != "__init__.py")])
    if mirrored != folder and (ROOT / mirrored).is_dir():
        found.append(str(mirrored))
    return found or [str(folder if (ROOT / folder).is_dir() else Path("tests"))]


def _uses(file: Path, module: str) -> bool:
    return any(f"{name}.".startswith(f"{module}.") for name in imports(file))


def _test_name(file: Path) -> str:
    return ".".join(file.with_suffix("").parts[1:])


def prepare(mutated: Iterable[Path], tests: Sequence[str]) -> None:
    """Lay the copy out anew."""
    shutil.rmtree(COPY, ignore_errors=True)
    tracked = [file for file in files() if not (ROOT / file).is_symlink()]
    for file in tracked:
        places = [file]
        if file.parts[0] == "packages" and "src" in file.parts:
            places.append(_in_src(file))
        for place in places:
            (COPY / place).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / file, COPY / place)
    settings = {
        "source_paths": ["src"],
        "only_mutate": [str(_in_src(file)) for file in mutated],
        "also_copy": sorted({file.parts[0] for file in tracked} - {"src", "tests", "pyproject.toml"}),
        "pytest_add_cli_args": ["-p", "no:cacheprovider"],
        "pytest_add_cli_args_test_selection": list(tests),
    }
    lines = [f"{key} = {json.dumps(value)}" for key, value in settings.items()]
    with (COPY / "pyproject.toml").open("a", encoding="utf-8") as project:
        project.write("\n".join(["", "[tool.mutmut]", *lines, ""]))


def _in_src(file: Path) -> Path:
    return Path(*file.parts[file.parts.index("src") :])


def lived(results: str) -> list[str]:
    """Return the names of the mutants that no test has noticed, from mutmut's list."""
    pairs = (line.strip().rpartition(": ") for line in results.splitlines())
    return [name for name, _, state in pairs if state in LIVES]


def told(*words: str) -> str:
    """Return what mutmut says."""
    return subprocess.run([MUTMUT, *words], cwd=COPY, check=True, capture_output=True, text=True).stdout


def show(names: Sequence[str]) -> None:
    """Print what was changed without a test noticing."""
    for name in names:
        print(told("show", name).rstrip(), end="\n\n")
    if names:
        print(f"{len(names)} mutants live. Write a test that fails on each, or delete what makes no difference.")
    else:
        print("Every mutant was noticed by a test.")


if __name__ == "__main__":
    sys.exit(main())
