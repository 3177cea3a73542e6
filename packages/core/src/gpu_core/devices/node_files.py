"""What is read of GPUs beside NVML: the kernel's files about PCI functions, and the driver's about MIG."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Protocol

from gpu_core.devices.file_root import FileRoot
from gpu_core.devices.gpu_names import gpu_names
from gpu_core.devices.mig_minors import MIG_MINORS_FILE, parse_mig_minors
from gpu_core.devices.model import PciFacts
from gpu_core.devices.pci import LOCATIONS, device_names
from gpu_core.devices.platform import tegra_name
from gpu_core.devices.vfio import DRIVER, BoundFunction, addressable_memory
from gpu_core.files import read_beginning, read_regular
from gpu_core.runtime.roots import Roots

PCI_DEVICES = "/sys/bus/pci/devices"

_CONFIG_SPACE = 4096

_LARGEST = 16 * 1024 * 1024
"""Bytes of a file at the most; the PCI ID database, the largest, has less than 2 MiB."""


class NodeFiles(Protocol):
    """Gives the facts of the node that NVML does not."""

    def pci(self, address: str) -> PciFacts | None:
        """Return what is known of a PCI function, by the kernel's address; None without its folder."""

    def mig_minors(self) -> Mapping[str, int] | None:
        """Return the minors of MIG capabilities; None without the driver's file."""


_TEGRA_RELEASE = "/etc/nv_tegra_release"
_SOC_FAMILY = "/sys/devices/soc0/family"
_COMPATIBLE = ("/proc/device-tree/compatible", "/sys/firmware/devicetree/base/compatible")
_PLATFORM_DEVICES = "/sys/bus/platform/devices"
_MOST_DEVICES = 4096


class MachineFiles:
    """The files of the machine that we run on; `driver_root` is where a container has those of the host, or some."""

    def __init__(self, roots: Roots, driver_root: str | None = None) -> None:
        self._roots = roots
        self._more_roots = (driver_root,) if driver_root else ()

    def pci(self, address: str) -> PciFacts | None:
        """Return what sysfs holds of a PCI function."""
        folder = self._roots.path(f"{PCI_DEVICES}/{address}")
        if not folder.is_dir():
            return None
        numa = _number(folder / "numa_node", 10)
        return PciFacts(
            address=address,
            vendor=_number(folder / "vendor", 16),
            device=_number(folder / "device", 16),
            class_code=_number(folder / "class", 16),
            numa_node=None if numa is None or numa < 0 else numa,
            config=_bytes(folder / "config"),
        )

    def mig_minors(self) -> Mapping[str, int] | None:
        """Return what the driver's file lists."""
        try:
            return parse_mig_minors(_read(self._roots.path(MIG_MINORS_FILE)))
        except OSError:
            return None

    def tegra_mark(self) -> str | None:
        """Return by what this machine is seen to be a Tegra system; None for any other."""
        if self._roots.path(_TEGRA_RELEASE).is_file():
            return f"{_TEGRA_RELEASE} is there"
        if _text(self._roots.path(_SOC_FAMILY)).lower().startswith("tegra"):
            return f"{_SOC_FAMILY} names Tegra"
        for file in _COMPATIBLE:
            named = tegra_name(_text(self._roots.path(file)).split("\0"))
            if named is not None:
                return f"{file} names {named}"
        return self._tegra_device()

    def _tegra_device(self) -> str | None:
        """Return which device of the chip is there: containers see these where the device tree is hidden from them."""
        try:
            folders = islice(self._roots.path(_PLATFORM_DEVICES).iterdir(), _MOST_DEVICES)
            for folder in folders:
                lines = _text(folder / "uevent").splitlines()
                named = tegra_name(line.partition("=")[2] for line in lines if line.startswith("OF_COMPATIBLE_"))
                if named is not None:
                    return f"{_PLATFORM_DEVICES} has a device {named}"
        except OSError:
            pass
        return None

    def vfio_functions(self) -> tuple[BoundFunction, ...]:
        """Return the physical functions that vfio-pci holds."""
        try:
            folders = sorted(self._roots.path(PCI_DEVICES).iterdir())
        except OSError:
            return ()
        bound = (folder for folder in folders if (folder / "driver").resolve().name == DRIVER)
        found = []
        for folder in bound:
            facts = self.pci(folder.name)
            if facts is not None and not (folder / "physfn").exists():
                found.append(BoundFunction(pci=facts, memory=addressable_memory(_text(folder / "resource"))))
        return tuple(found)

    def device_name(self, number: int) -> str | None:
        """Return what a device of NVIDIA's is called: by our own table, else by a PCI ID database that knows it."""
        return gpu_names().get(number) or self._databases.get(number)

    @cached_property
    def _databases(self) -> Mapping[int, str]:
        """What the PCI ID databases of this image and the driver root say; of several that know a device, the first."""
        names: dict[int, str] = {}
        for place in dict.fromkeys((str(self._roots.root), *self._more_roots)):
            root = FileRoot(place)
            found = dict.fromkeys(root.resolve(location) for location in LOCATIONS)
            for path in (path for path in found if path is not None):
                lines = _text(Path(root.seen(path))).split("\n")
                names = device_names(lines) | names
        return names


def _read(file: Path) -> str:
    return read_regular(file, most=_LARGEST).decode("utf-8", "replace")


def _text(file: Path) -> str:
    try:
        return _read(file)
    except OSError:
        return ""


def _number(file: Path, base: int) -> int | None:
    try:
        return int(_read(file).strip(), base)
    except (OSError, ValueError):
        return None


def _bytes(file: Path) -> bytes:
    try:
        return read_beginning(file, most=_CONFIG_SPACE)
    except OSError:
        return b""
