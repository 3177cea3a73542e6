"""Files of a node that something else has put a named pipe in the place of: nothing waits, and the rest is read."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from gpu_core.cdi.driver import DriverSearch, find_driver
from gpu_core.cdi.platform_files import find_tegra
from gpu_core.cdi.tegra import CSV_DIRECTORY
from gpu_core.devices.model import PciFacts
from gpu_core.devices.node_files import MachineFiles
from gpu_core.errors import SuiteError
from gpu_core.runtime.roots import Roots

ADDRESS = "0000:3b:00.0"
FUNCTION = f"sys/bus/pci/devices/{ADDRESS}"


def driver_below(root: Path) -> object:
    search = DriverSearch(root=str(root), dev_root=str(root), version=None, machine="x86_64", release="6")
    try:
        return find_driver(search)
    except SuiteError:
        return None


def tegra_below(root: Path) -> object:
    return find_tegra(str(root), str(root)).libraries


def machine(root: Path) -> MachineFiles:
    return MachineFiles(Roots(root=root))


@pytest.mark.parametrize(
    ("place", "read", "expected"),
    [
        pytest.param("usr/share/hwdata/pci.ids", lambda root: machine(root).device_name(1), None, id="PCI database"),
        pytest.param("proc/driver/nvidia-caps/mig-minors", lambda root: machine(root).mig_minors(), None, id="minors"),
        pytest.param(
            f"{FUNCTION}/config",
            lambda root: machine(root).pci(ADDRESS),
            PciFacts(address=ADDRESS),
            id="a GPU's configuration space",
        ),
        pytest.param("etc/ld.so.cache", driver_below, None, id="the loader's cache"),
        pytest.param(f"{CSV_DIRECTORY}/drivers.csv", tegra_below, (), id="a list of Tegra's files"),
    ],
)
def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(
    tmp_path: Path, place: str, read: Callable[[Path], object], expected: object
) -> None:
    file = tmp_path / place.lstrip("/")
    file.parent.mkdir(parents=True)
    os.mkfifo(file)
    assert read(tmp_path) == expected
