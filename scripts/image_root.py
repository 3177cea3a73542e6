"""Gather the root file system of an image: a Python, one program in /opt/gpu-suite, and the libraries they load.

Run by the build stage of packages/Dockerfile, with the base image's own Python, which is the one that is copied:
`image_root.py DIRECTORY DISTRIBUTION`. An image holds what runs, and no package manager, compiler or pip.
"""

from __future__ import annotations

import compileall
import os
import py_compile
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from importlib.metadata import distributions
from pathlib import Path

PROGRAMS = Path("/opt/gpu-suite")
# The MPS daemon mounts; a shell and a few commands serve people, and the hooks of pods.
COMMANDS = ("sh", "cat", "env", "ln", "ls", "mkdir", "mount", "rm", "sleep", "umount")
# What container runtimes look at to find out where libraries belong, and what name resolution needs.
SETTINGS = ("debian_version", "ld.so.conf", "ld.so.conf.d", "nsswitch.conf", "os-release", "ssl/openssl.cnf")
ACCOUNTS = ("root:x:0:0:root:/:/bin/sh", "nonroot:x:65532:65532:nonroot:/:/bin/sh")

LEFT_OUT = ("__pycache__", "*.pyc", "*.pyi", "*.exe", "activate*", "deactivate*", "pydoc.bat", ".lock", ".gitignore")
# Parts of Python's own library that no program uses, and where others' packages would be.
UNUSED_OF_PYTHON = frozenset(
    {"ensurepip", "idlelib", "lib2to3", "pydoc_data", "test", "tkinter", "turtledemo", "site-packages", "dist-packages"}
)
# More than half of an image would be the Kubernetes client's model classes, where we use plain dicts, and its
# asynchronous form with what only that needs. The rest is what typer would decorate its help with.
UNUSED_OF_PACKAGES = (
    *("kubernetes/aio", "aiohappyeyeballs", "aiohttp", "aiohttp_retry", "aiosignal", "frozenlist", "multidict"),
    *("propcache", "yarl", "kubernetes/client/api"),
    *("rich", "pygments", "markdown_it", "mdurl"),
)
# The client imports this package by name, and looks into it only when it is asked for a model.
EMPTIED = "kubernetes/client/models"
# What our programs import of packages that were thinned out.
MUST_IMPORT = {
    "kubernetes": (
        "kubernetes.client.api_client",
        "kubernetes.client.exceptions",
        "kubernetes.config.kube_config",
        "kubernetes.watch.watch",
    )
}


def main() -> None:
    """Fill the directory, then start in it what it is for."""
    image, name = Path(sys.argv[1]), sys.argv[2]
    for folder in ("bin", "lib", "lib64", "sbin"):
        (image / "usr" / folder).mkdir(parents=True)
        (image / folder).symlink_to(f"usr/{folder}")
    for folder in ("dev", "etc", "proc", "run", "sys", "tmp", "var"):
        (image / folder).mkdir()
    (image / "var/run").symlink_to("/run")
    (image / "tmp").chmod(0o1777)

    copy_python(image)
    packages = copy_programs(image)
    programs = keep_programs(image, packages, name)
    for command in COMMANDS:
        copy_command(image, command)
    for library in sorted(set(libraries(image))):
        copy(image, library)
    settings(image)

    # Hashes instead of times: the files' times change with every copy, and nobody edits them in an image.
    compileall.compile_dir(
        image, quiet=2, workers=0, stripdir=str(image), invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH
    )
    subprocess.run(["/sbin/ldconfig", "-r", image], check=True)
    try_out(image, packages, programs)


def copy_python(image: Path) -> None:
    """Copy the interpreter, under every name it goes by, and the part of its library that is used."""
    interpreter = Path(sys.executable)
    while True:
        copy(image, interpreter, follow=False)
        if not interpreter.is_symlink():
            break
        interpreter = interpreter.parent / interpreter.readlink()
    library = Path(sysconfig.get_path("stdlib"))

    def ignore(folder: str, names: list[str]) -> set[str]:
        left_out = shutil.ignore_patterns(*LEFT_OUT, "config-*")(folder, names)
        return left_out | (UNUSED_OF_PYTHON & set(names) if Path(folder) == library else set())

    shutil.copytree(library, image / library.relative_to("/"), symlinks=True, ignore=ignore, dirs_exist_ok=True)


def copy_programs(image: Path) -> Path:
    """Copy the virtual environment; gives its folder of packages inside the image."""
    target = image / PROGRAMS.relative_to("/")
    shutil.copytree(PROGRAMS, target, symlinks=True, ignore=shutil.ignore_patterns(*LEFT_OUT))
    (packages,) = target.glob("lib/python3*/site-packages")
    for unused in UNUSED_OF_PACKAGES:
        shutil.rmtree(packages / unused, ignore_errors=True)
    if (packages / EMPTIED).exists():
        shutil.rmtree(packages / EMPTIED)
        (packages / EMPTIED).mkdir()
        (packages / EMPTIED / "__init__.py").touch()
    return packages


def keep_programs(image: Path, packages: Path, name: str) -> list[str]:
    """Leave only the distribution's own programs, and offer them in /usr/bin, which existing manifests may name."""
    (ours,) = (one for one in distributions(path=[str(packages)]) if one.metadata["Name"] == name)
    programs = sorted(point.name for point in ours.entry_points if point.group == "console_scripts")
    for script in (image / PROGRAMS.relative_to("/") / "bin").iterdir():
        if script.name in programs:
            (image / "usr/bin" / script.name).symlink_to(PROGRAMS / "bin" / script.name)
        elif not script.name.startswith("python"):
            script.unlink()
    return programs


def copy_command(image: Path, name: str) -> None:
    """Copy one command, whatever it is a link to."""
    found = shutil.which(name, path="/usr/bin:/bin:/usr/sbin:/sbin")
    if found is None:
        sys.exit(f"The base image lacks the command {name}. Choose a base image of Debian's.")
    shutil.copy2(found, image / "usr/bin" / name)


def libraries(image: Path) -> Iterator[Path]:
    """Yield the libraries that the binaries in the image ask the loader for, the loader included."""
    for path in image.rglob("*"):
        if path.is_symlink() or not path.is_file() or path.open("rb").read(4) != b"\x7fELF":
            continue
        # A static binary makes ldd fail; it needs nothing.
        listed = subprocess.run(["/usr/bin/ldd", path], check=False, capture_output=True, text=True).stdout
        for found in re.findall(r"^\s*(?:\S+ => )?(/\S+) \(0x", listed, re.MULTILINE):
            if not found.startswith(str(image)):
                yield Path(found)


def copy(image: Path, source: Path, *, follow: bool = True) -> None:
    """Copy one file to the same path in the image, where /lib and the like are links into /usr."""
    place = source.parent.resolve() / source.name
    target = image / place.relative_to("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    if not target.exists():
        shutil.copy2(source, target, follow_symlinks=follow)


def settings(image: Path) -> None:
    """Write the accounts, and copy settings from /etc where the base image has them."""
    for name in SETTINGS:
        source, target = Path("/etc") / name, image / "etc" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target)
        elif source.exists():
            shutil.copy2(source, target)
    (image / "etc/passwd").write_text("".join(f"{line}\n" for line in ACCOUNTS))
    (image / "etc/group").write_text("root:x:0:\nnonroot:x:65532:\n")


def try_out(image: Path, packages: Path, programs: list[str]) -> None:
    """Start every program in the image, and import what was thinned out: a missing library fails the build."""
    imports = [module for package, names in MUST_IMPORT.items() if (packages / package).exists() for module in names]
    starts = [[program, option] for program in programs for option in ("--version", "--help")]
    environment = {"PATH": f"{PROGRAMS}/bin:/usr/bin", "PYTHONDONTWRITEBYTECODE": "1"}
    for command in (["python", "-c", f"import {', '.join(['ctypes', 'ssl', *imports])}"], *starts):
        subprocess.run(
            ["/usr/sbin/chroot", image, *command],
            check=True,
            env={**os.environ, **environment},
            stdout=subprocess.DEVNULL,
        )


if __name__ == "__main__":
    main()
