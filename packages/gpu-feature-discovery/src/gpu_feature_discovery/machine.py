"""What a node tells besides its driver: its model, the NVIDIA functions on its PCI bus, and traces of changes."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from gpu_core.config.load import Loaded
from gpu_core.config.programs.gpu_feature_discovery import GfdSettings
from gpu_core.devices.model import PciFacts
from gpu_core.devices.node_files import MachineFiles
from gpu_core.devices.pci import NVIDIA
from gpu_core.devices.vfio import is_gpu
from gpu_core.files import read_beginning
from gpu_core.hardware.source import NodeSource
from gpu_core.labels import NodeFacts
from gpu_core.runtime.roots import Roots

# Machines without DMI, as most with ARM processors, are described by a device tree.
_DEVICE_TREES = ("proc/device-tree/model", "sys/firmware/devicetree/base/model")
_CONFIG_SIZE = 256
_MACHINE_TYPE_FILE = "flags.gfd.machineTypeFile"

_NOWHERE = Path("/nonexistent")
"""What happens on this machine does not happen to a simulated node."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """What a node tells besides its driver: its other `facts`, and `traces` that a change of its devices leaves."""

    facts: Callable[[], NodeFacts]
    traces: Callable[[], bytes]


def machine_of(
    loaded: Loaded[GfdSettings], source: NodeSource, *, timestamp: int, seek_gpus: bool, warn: Callable[[str], object]
) -> Machine:
    """Return the machine, or the simulated node, that `source` reads.

    `timestamp` is when the configuration was loaded, in seconds since 1970. With `seek_gpus` the facts tell whether the
    node shows a GPU without a driver.
    """
    file, given = loaded.config.flags.gfd.machine_type_file, loaded.given(_MACHINE_TYPE_FILE)
    if source.node is None:
        return Machine(
            facts=lambda: read_facts(file, timestamp=timestamp, device_tree=not given, seek_gpus=seek_gpus, warn=warn),
            traces=traces,
        )
    node, files = source.node, () if source.events is None else (source.events,)

    def facts() -> NodeFacts:
        # A file that was asked for is read even here: it is the machine's own and not the node's.
        machine = machine_type(file, device_tree=False, warn=warn) if given else node.machine
        return NodeFacts(
            timestamp=timestamp,
            machine_type="unknown" if machine is None else machine,
            pci=node.pci_functions(),
            shows_gpu=bool(node.gpus) if seek_gpus else None,
        )

    return Machine(facts=facts, traces=lambda: traces(_NOWHERE, files))
