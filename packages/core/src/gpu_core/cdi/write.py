"""Puts specifications where container runtimes look for them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from gpu_core.cdi.model import Spec, document, required_version
from gpu_core.cdi.names import CdiClass, file_name
from gpu_core.errors import CdiError
from gpu_core.files import read_regular, write_atomically


def text(spec: Spec) -> str:
    """Return a specification's file content: JSON, indented, with a newline at its end."""
    return json.dumps(document(spec, required_version(spec)), indent=2) + "\n"


def write_specs(specs: Mapping[CdiClass, Spec | None], directory: Path) -> tuple[CdiClass, ...]:
    """Write one file for each class, mode 0644, and remove ours of classes without a specification.

    A file that already says the same is left alone, so that runtimes which watch the directory do not read it
    again. Returns the classes that have a file now. Raises CdiError when a file cannot be written.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for cdi_class, spec in sorted(specs.items()):
            path = directory / file_name(cdi_class)
            if spec is None:
                path.unlink(missing_ok=True)
            elif not _holds(path, wanted := text(spec).encode()):
                write_atomically(path, wanted, mode=0o644)
    except OSError as error:
        raise CdiError(
            f"The CDI specifications cannot be written to {directory}: {error.strerror or error}. Mount the host's "
            f"{directory} there, writable, or choose a device list strategy without CDI."
        ) from error
    return tuple(cdi_class for cdi_class, spec in sorted(specs.items()) if spec is not None)


def _holds(path: Path, wanted: bytes) -> bool:
    try:
        return read_regular(path, most=len(wanted)) == wanted
    except OSError:
        return False
