"""Generate the Python code of protos/ into its package, or with --check say whether it is up to date.

The generated code is committed, so that neither a user nor an image needs a protobuf compiler.
"""

from __future__ import annotations

import argparse
import filecmp
import sys
import tempfile
from importlib.resources import files
from pathlib import Path

from grpc_tools import protoc

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "packages/kubelet/src"
PACKAGE = "gpu_kubelet/_pb"
PROTOS = ("protos/deviceplugin/v1beta1/deviceplugin.proto", "protos/podresources/v1/podresources.proto")


def main() -> int:
    """Write the generated code, or compare it; the exit code is 1 where a committed file is stale."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing, fail when a file is stale")
    check: bool = parser.parse_args().check

    if not check:
        return generate(SOURCES)
    with tempfile.TemporaryDirectory() as fresh:
        if code := generate(Path(fresh)):
            return code
        stale = differing(Path(fresh) / PACKAGE, SOURCES / PACKAGE)
    for name in stale:
        print(f"{PACKAGE}/{name} does not match protos/. Run `make protos` and commit the result.", file=sys.stderr)
    return 1 if stale else 0


def generate(destination: Path) -> int:
    """Run the compiler; messages, services and typed stubs for both go below `destination`."""
    # A virtual directory gives the files the import path that the generated code has inside the package.
    paths = [f"-I{PACKAGE}={(ROOT / proto).parent}" for proto in PROTOS]
    outputs = [f"--{kind}_out={destination}" for kind in ("python", "grpc_python")]
    for plugin in ("mypy", "mypy_grpc"):
        program = Path(sys.executable).parent / f"protoc-gen-{plugin}"
        outputs += [f"--plugin=protoc-gen-{plugin}={program}", f"--{plugin}_out=quiet:{destination}"]
    names = [f"{PACKAGE}/{Path(proto).name}" for proto in PROTOS]
    well_known = f"-I{files('grpc_tools') / '_proto'}"
    return int(protoc.main(["protoc", *paths, well_known, *outputs, *names]))


def differing(fresh: Path, committed: Path) -> list[str]:
    """Name every generated file that is missing or different, and every left-over that nothing generates any more."""
    ours = {path.name for path in fresh.iterdir()}
    theirs = {path.name for path in committed.glob("*_pb2*")}
    same, _, _ = filecmp.cmpfiles(fresh, committed, ours & theirs, shallow=False)
    return sorted((ours | theirs) - set(same))


if __name__ == "__main__":
    sys.exit(main())
