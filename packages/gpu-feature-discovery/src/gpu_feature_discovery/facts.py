"""What a node says about itself apart from its GPUs: its model, and the NVIDIA functions on its PCI bus."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from gpu_core.devices.model import PciFacts
from gpu_core.devices.node_files import MachineFiles
from gpu_core.devices.pci import NVIDIA
from gpu_core.devices.vfio import is_gpu
from gpu_core.labels import NodeFacts
from gpu_core.runtime.files import read_beginning
from gpu_core.runtime.roots import Roots

# Machines without DMI, as most with ARM processors, are described by a device tree.
_DEVICE_TREES = ("proc/device-tree/model", "sys/firmware/devicetree/base/model")
_CONFIG_SIZE = 256
_VENDOR = f"{NVIDIA:#06x}".encode()
_LONGEST_NAME = 4096


def read_facts(
    machine_type_file: str,
    *,
    timestamp: int,
    device_tree: bool,
    seek_gpus: bool = False,
    root: Path = Path("/"),
    warn: Callable[[str], object],
) -> NodeFacts:
    """Read the facts below `root` now.

    A machine type that cannot be read is `unknown`, unless `device_tree` allows to look for it there. With `seek_gpus`
    it is told whether the PCI bus, or the mark of a Tegra chip, shows a GPU.
    """
    functions = nvidia_functions(root)
    return NodeFacts(
        timestamp=timestamp,
        machine_type=machine_type(machine_type_file, device_tree=device_tree, root=root, warn=warn),
        pci=functions,
        shows_gpu=_shows_gpu(functions, root) if seek_gpus else None,
    )


def _shows_gpu(functions: tuple[PciFacts, ...] | None, root: Path) -> bool:
    on_bus = any(is_gpu(function) for function in functions or ())
    return on_bus or MachineFiles(Roots(root=root)).tegra_mark() is not None


def machine_type(
    machine_type_file: str, *, device_tree: bool, root: Path = Path("/"), warn: Callable[[str], object]
) -> str:
    """Return the text of the machine type file, else of the device tree, else `unknown`."""
    if not machine_type_file:
        return "unknown"
    file = Path(machine_type_file)
    try:
        return _text(root / file.relative_to("/") if file.is_absolute() else file)
    except OSError as error:
        reason = error.strerror
    for path in _DEVICE_TREES if device_tree else ():
        try:
            return _text(root / path)
        except OSError:
            continue
    warn(f"The machine type file {machine_type_file} cannot be read ({reason}), so gpu.machine is unknown.")
    return "unknown"


def nvidia_functions(root: Path = Path("/")) -> tuple[PciFacts, ...] | None:
    """Return NVIDIA's functions on the PCI bus sorted by address; None where there is no bus to read."""
    bus = root / "sys/bus/pci/devices"
    try:
        addresses = sorted(os.listdir(bus))  # noqa: PTH208  A bus has hundreds of functions.
    except OSError:
        return None
    found = []
    for address in addresses:
        function = f"{bus}/{address}"
        if _read(f"{function}/vendor", 16).strip() == _VENDOR:
            config = _read(f"{function}/config", _CONFIG_SIZE)
            found.append(PciFacts(address=address, vendor=NVIDIA, class_code=_class(function), config=config))
    return tuple(found)


def _class(function: str) -> int | None:
    try:
        return int(_read(f"{function}/class", 16), 16)
    except ValueError:
        return None


def _text(path: Path) -> str:
    # A device tree ends its texts with NUL.
    return read_beginning(path, most=_LONGEST_NAME).decode(errors="replace").strip("\0").strip()


def _read(path: str, size: int) -> bytes:
    """Read the first bytes of a file of sysfs, without the cost of a buffered stream; empty where that fails."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.read(descriptor, size)
    except OSError:
        return b""
    finally:
        os.close(descriptor)
