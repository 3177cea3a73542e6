"""GPUs that no driver here can be asked for are called by our own table, and else by a PCI ID database."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from core.devices.opening import pci_function
from fakes.driver_root import link, put
from gpu_core.config.words import DeviceDiscoveryStrategy
from gpu_core.devices.choose import open_backend
from gpu_core.devices.gpu_names import gpu_names, read_names
from gpu_core.runtime.roots import Roots

KNOWN = {
    0x1DB1: "GV100GL [Tesla V100 SXM2 16GB]",
    0x1EB8: "TU104GL [Tesla T4]",
    0x20B5: "GA100 [A100 PCIe 80GB]",
    0x2235: "GA102GL [A40]",
    0x26B5: "AD102GL [L40]",
    0x2330: "GH100 [H100 SXM5 80GB]",
    0x2335: "GH100 [H200 SXM 141GB]",
    0x2342: "GH100 [GH200 120GB / 480GB]",
    0x2901: "GB100 [B200]",
    0x31C2: "GB110 [GB300]",
    0x2080: "GA100",
}


def names(root: Path, *numbers: str) -> list[str | None]:
    """Return what GPUs of these numbers are called when vfio-pci holds them."""
    for place, number in enumerate(numbers):
        pci_function(root, f"0000:{place:02x}:00.0", "vfio-pci", device=f"0x{number}")
    roots, driver_root = Roots(root=root), str(root / "driver-root")
    opened = open_backend(strategy=DeviceDiscoveryStrategy.VFIO, roots=roots, driver_root_ctr=driver_root)
    return [gpu.name for gpu in opened.read().gpus]


@pytest.mark.parametrize(("number", "name"), KNOWN.items(), ids=KNOWN.values())
def test_gpus_from_volta_on_are_known(number: int, name: str) -> None:
    assert gpu_names()[number] == name


def test_the_table_names_gpus_alone() -> None:
    assert len(gpu_names()) > 400
    odd = re.compile(r"Audio|Controller|NVSwitch|Bridge|Root|^ | $|\t| \]|\[ ")
    assert [name for name in gpu_names().values() if not name or odd.search(name)] == []


def test_a_chip_comes_before_its_products() -> None:
    lines = ["# facts", "GA100", " 2080", " 20b5 A100 PCIe 80GB", "GB100", " 2901 B200"]
    assert read_names(lines) == {0x2080: "GA100", 0x20B5: "GA100 [A100 PCIe 80GB]", 0x2901: "GB100 [B200]"}


def test_our_own_names_win_and_each_database_adds_to_them(tmp_path: Path) -> None:
    put(tmp_path, "usr/share/misc/pci.ids", b"10de  NVIDIA\n\t2335  Old [H200]\n\t15f8  GP100GL [Tesla P100]\n")
    host = b"10de  NVIDIA\n\t15f8  Other\n\t3fff  GR999 [Next]\n"
    put(tmp_path, "driver-root/usr/share/hwdata/pci.ids", host)
    link(tmp_path, "driver-root/usr/share/misc/pci.ids", "/usr/share/hwdata/pci.ids")
    assert names(tmp_path, "2335", "15f8", "3fff", "3ffe") == [
        "GH100 [H200 SXM 141GB]",
        "GP100GL [Tesla P100]",
        "GR999 [Next]",
        "UNKNOWN_DEVICE",
    ]


def test_nothing_is_read_for_gpus_that_we_know(tmp_path: Path) -> None:
    (tmp_path / "usr/share/misc/pci.ids").mkdir(parents=True)
    assert names(tmp_path, "2335") == ["GH100 [H200 SXM 141GB]"]
