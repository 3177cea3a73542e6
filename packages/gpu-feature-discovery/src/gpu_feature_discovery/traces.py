"""Cheap signs that GPUs came, went or were partitioned anew, which do not wake the driver.

Opening NVML powers up idle GPUs, so labels are not kept fresh by asking it every few seconds. What the kernel and
the driver show in their file systems changes with the devices, and reading it costs a few system calls.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

from gpu_core.runtime.files import read_beginning

_LISTED = (
    "sys/bus/pci/drivers/nvidia",
    "sys/bus/pci/drivers/vfio-pci",
    "proc/driver/nvidia/gpus",
    "dev/nvidia-caps",
)
_GPU_CAPABILITIES = "proc/driver/nvidia/capabilities"
_READ = ("proc/driver/nvidia/version", "proc/driver/nvidia-caps/mig-minors")
_NVIDIA_NODES = "dev"

_ENOUGH = 64 * 1024
"""Bytes of a file whose change counts."""


def traces(root: Path = Path("/"), files: Iterable[Path] = ()) -> bytes:
    """Return a digest that changes when the node's GPUs, their driver or one of `files` do."""
    digest = hashlib.blake2b(digest_size=16)
    for directory in _LISTED:
        _add(digest, directory, _names(root / directory))
    _add(digest, _NVIDIA_NODES, [name for name in _names(root / _NVIDIA_NODES) if name.startswith("nvidia")])
    for gpu in _names(root / _GPU_CAPABILITIES):
        instances = root / _GPU_CAPABILITIES / gpu / "mig"
        for instance in _names(instances):
            _add(digest, f"{gpu}/{instance}", _names(instances / instance))
    for file in (*(root / path for path in _READ), *files):
        _add(digest, str(file), [_content(file).hex()])
    return digest.digest()


def _add(digest: hashlib.blake2b, title: str, names: Iterable[str]) -> None:
    digest.update("\0".join((title, *names, "\0")).encode(errors="surrogateescape"))


def _names(directory: Path) -> list[str]:
    try:
        return sorted(os.listdir(directory))  # noqa: PTH208  Only names are wanted, several times a minute.
    except OSError:
        return []


def _content(file: Path) -> bytes:
    try:
        return read_beginning(file, most=_ENOUGH)
    except OSError:
        return b""
